"""A store that has no room left takes beats from nobody: whose beats stand still for that is not lost."""

from __future__ import annotations

import pytest

from bastion.model.errors import StoreFull
from bastion.model.state.state import AttemptState
from tests.sim.test_zombie import Stage, play
from tests.simulation.parts.kernel import Life
from tests.simulation.parts.store import SimBucket


class SmallBucket(SimBucket):
    """Full or not, as the test says."""

    full = False

    def _need_room(self, key: str) -> None:
        if self.full:
            raise StoreFull(f"no room for {key}")

    def create(self, key: str, data: bytes) -> str | None:
        self._need_room(key)
        return super().create(key, data)

    def replace(self, key: str, data: bytes, version: str) -> str | None:
        self._need_room(key)
        return super().replace(key, data, version)

    def write(self, key: str, data: bytes) -> str:
        self._need_room(key)
        return super().write(key, data)


@pytest.mark.parametrize("full_s", [20, 40, 50, 65, 300])
def test_a_job_runs_on_while_the_store_is_full_and_after(full_s: float) -> None:
    ended = []

    def story(stage: Stage) -> None:
        stage.bucket = store = SmallBucket(stage.store)
        bastion = stage.bastion(1)
        stage.submit("steady")
        stage.go_on(bastion, 30)
        store.full = True
        stage.kernel.spawn(Life(), lambda: setattr(store, "full", False), full_s)
        stage.go_on(bastion, full_s + 120)
        (attempt,) = [attempt for _, _, attempt in bastion.journal.state.live_attempts()]
        assert (attempt.number, attempt.state) == (0, AttemptState.RUNNING)
        assert len(stage.hosts) == 1
        ended.append(True)

    play(story)
    assert ended
