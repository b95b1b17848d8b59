"""A bastion that slept while another took over does no harm when it wakes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest

from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.errors import LeadershipLost
from bastion.model.job.spec import new_jobspec
from bastion.model.stored.requests import Submit
from bastion.service import loop
from bastion.service.maintenance import ServiceContext
from bastion.service.tick import Bastion
from tests.simulation.parts.fleet import SimRunner
from tests.simulation.parts.host import Script, SimHost, SimProcess
from tests.simulation.parts.kernel import Kernel, Life, SimClock, SimIds, SimTasks
from tests.simulation.parts.store import SimBucket, Store
from tests.simulation.scene import QUOTA


class Stage:
    """One store and one fleet, and bastions that are ticked by hand."""

    def __init__(self) -> None:
        self.kernel = Kernel(1)
        self.store = Store(self.kernel)
        self.hosts: dict[str, SimHost] = {}
        self.bucket = SimBucket(self.store)
        self.store.put("write", layout.QUOTA, QUOTA)

    def bastion(self, pid: int) -> Bastion:
        runner = SimRunner(self.kernel, lambda _: self.bucket, self.scripts(), self.hosts)
        runner.name = "local"
        doors = ServiceContext(
            bucket=self.bucket,
            runners={"local": runner},
            clock=SimClock(self.kernel),
            ids=SimIds(self.kernel),
            tasks=SimTasks(self.kernel, Life()),
            snapshot=lambda: None,
        )
        return loop.begin(doors, loop.ThisBastion(name="b", host="h", boot="b", pid=pid, alive=lambda _: True))

    def scripts(self) -> dict[str, Script]:
        """What commands do."""
        return {"work": _work, "quick": self.quick}

    def quick(self, process: SimProcess) -> int:
        """Ends at once."""
        return 0

    def submit(self, name: str) -> None:
        spec = new_jobspec(name=name, user="ann", project="red", command="work", resources={"v4": 1})
        self.bucket.create(layout.request("ann", f"{name}0000000"), encode(Submit(spec=spec)))

    def go_on(self, bastion: Bastion, seconds: float) -> None:
        """Tick for so long."""
        end = self.kernel.now + seconds
        while self.kernel.now < end:
            bastion.tick()
            bastion.context.tasks.wait(bastion.idle_s())


def _work(process: SimProcess) -> int:
    process.sleep(3600)
    return 0


S = TypeVar("S", bound=Stage)


def play(story: Callable[[S], None], kind: type[S] = Stage) -> None:  # type: ignore[assignment]
    """Run a story as a strand of its own, to its end."""
    stage, ends = kind(), list[BaseException | None]()

    def strand() -> None:
        try:
            story(stage)
        except BaseException as error:
            ends.append(error)
        else:
            ends.append(None)

    stage.kernel.spawn(Life(), strand)
    assert stage.kernel.run(lambda: bool(ends), 20_000_000), "the story never ends"
    if ends[0] is not None:
        raise ends[0]


def test_a_zombie_removes_nothing_of_attempts_that_it_does_not_know() -> None:
    def story(stage: Stage) -> None:
        old = stage.bastion(1)
        stage.submit("first")
        stage.go_on(old, 20)
        new = stage.bastion(2)
        stage.submit("second")
        stage.go_on(new, 60)
        facts = [key for key in stage.store.objects if key.startswith(layout.FACTS)]
        assert len(facts) == 2
        old._hear(old.chores.ear.listen(), old.time.now())
        old.context.bucket.delete(old.requests.done)
        assert facts == [key for key in stage.store.objects if key.startswith(layout.FACTS)]

    play(story)


def test_a_zombie_ends_at_its_first_word() -> None:
    def story(stage: Stage) -> None:
        old = stage.bastion(1)
        stage.go_on(old, 20)
        new = stage.bastion(2)
        stage.go_on(new, 20)
        stage.submit("late")
        with pytest.raises(LeadershipLost, match=r"took over|another bastion"):
            stage.go_on(old, 60)

    play(story)
