"""The real worker on a bucket that hangs, refuses, forgets its answers and does things late: 200 seeds, and three cases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeVar

import pytest

from bastion.journal import logs
from bastion.model import layout
from bastion.model.codec import decode, encode
from bastion.model.errors import BucketError
from bastion.model.interfaces import Bucket, Stat, StoredObject
from bastion.model.state.state import Cause
from bastion.model.stored.records import Facts, StopOrder
from bastion.stores.memory import MemoryBucket
from bastion.testing.stage import KEY, order, placement
from tests.simulation.parts.fleet import SimRunner
from tests.simulation.parts.host import SimHost, SimProcess
from tests.simulation.parts.kernel import Kernel, Life

T = TypeVar("T")
SEEDS = range(200)
CALM_S = 400.0


class Storm:
    """A `Bucket` in front of another: until `CALM_S` its calls take long, fail before or after, or work much later."""

    def __init__(self, kernel: Kernel, store: Bucket) -> None:
        self.url = store.url
        self.away_until = self.listing_s = 0.0
        self._kernel = kernel
        self._store = store

    def read(self, key: str, limit: int | None = None) -> StoredObject:
        return self._do(lambda: self._store.read(key, limit))

    def create(self, key: str, data: bytes) -> str | None:
        return self._do(lambda: self._store.create(key, data))

    def replace(self, key: str, data: bytes, version: str) -> str | None:
        return self._do(lambda: self._store.replace(key, data, version))

    def write(self, key: str, data: bytes) -> str:
        return self._do(lambda: self._store.write(key, data))

    def list(self, prefix: str, *, after: str = "") -> Iterator[Stat]:
        self._kernel.sleep(self.listing_s)
        return self._do(lambda: self._store.list(prefix, after=after))

    def delete(self, keys: object) -> None:
        raise AssertionError("a worker deletes nothing")

    def _do(self, work: Callable[[], T]) -> T:
        kernel = self._kernel
        kernel.sleep(max(0.0, self.away_until - kernel.now))
        mood = kernel.random.random() if kernel.now < CALM_S else 1.0
        kernel.sleep(kernel.random.expovariate(10))
        if mood < 0.1:
            raise BucketError("refused")
        if mood < 0.15:
            kernel.spawn(Life(), partial(_late, work), after=kernel.random.uniform(5, 120))
            raise BucketError("timed out, and is done later")
        result = work()
        if mood < 0.3:
            raise BucketError("done, and the answer was lost")
        return result


def _late(work: Callable[[], object]) -> None:
    try:
        work()
    except Exception:
        return


class Scene:
    """One attempt on a stormy bucket; its program counts how often it was started."""

    def __init__(self, seed: int, **changes: object) -> None:
        self.kernel = Kernel(seed)
        self.store = MemoryBucket(f"memory://storm-{seed}-{id(self)}")
        self.storm = Storm(self.kernel, self.store)
        self.hosts: dict[str, SimHost] = {}
        self.starts = 0
        self.output = b""
        self.scripts = {"talk": self._talk}
        self.runner = SimRunner(self.kernel, lambda _: self.storm, self.scripts, self.hosts)
        self.store.create(layout.order(KEY), encode(order(KEY, "talk", **changes)))  # type: ignore[arg-type]

    def facts(self) -> Facts | None:
        found = [stat.key for stat in self.store.list(layout.facts(KEY, 0))]
        return decode(self.store.read(found[0]).data, Facts, "facts") if found else None

    def ended(self) -> bool:
        return (facts := self.facts()) is not None and facts.phase == "ended"

    def quiet(self) -> bool:
        return not any(host.there for host in self.hosts.values())

    def log(self) -> bytes:
        extent = logs.survey(self.store, layout.log(KEY, 0))
        assert extent.ended
        return b"".join(logs.read(self.store, extent.segments))

    def stop(self, grace_s: float = 30.0) -> None:
        stop = StopOrder(cause=Cause.PREEMPTED, grace_s=grace_s, reason="bob", nonce="n")
        self.store.create(layout.stop(KEY), encode(stop))

    def _talk(self, process: SimProcess) -> int:
        self.starts += 1
        process.traps = True
        for n in range(60):
            process.print(f"line {n}\n")
            process.say_progress(f'{{"step": {n}}}\n')
            if process.sleep(self.kernel.random.expovariate(0.4)):
                process.print("saved\n")
                return 9
        return 0


@pytest.mark.parametrize("seed", SEEDS)
def test_a_program_runs_once_and_its_end_and_output_are_told_whole(seed: int) -> None:
    scene = Scene(seed)
    kernel = scene.kernel
    for _ in range(kernel.random.choice([1, 1, 2, 3])):
        kernel.spawn(Life(), lambda: scene.runner.create(placement(KEY)), after=kernel.random.uniform(0, 300))
    if kernel.random.random() < 0.5:
        kernel.spawn(Life(), scene.stop, after=kernel.random.uniform(0, 300))
    kernel.sleep(CALM_S)
    assert kernel.run(lambda: scene.ended() and scene.quiet(), 1500), "the worker never told its end"
    kernel.sleep(200)
    facts = scene.facts()
    assert facts is not None
    assert facts.phase == "ended", "a late write undid the end"
    assert scene.starts <= 1
    printed = b"".join(bytes(host.log) for host in scene.hosts.values())
    assert scene.log() == printed
    if scene.starts:
        assert (facts.cause, facts.exit_code) in {(Cause.OK, 0), (Cause.PREEMPTED, 9)}
        assert facts.step == printed.count(b"line") - 1
    else:
        assert (facts.cause, facts.exit_code) == (Cause.PREEMPTED, None)


@pytest.mark.parametrize("seed", range(40))
def test_a_program_that_truncates_its_own_output_loses_no_later_line_and_the_log_says_so(seed: int) -> None:
    scene = Scene(seed)
    dice = scene.kernel.random
    cut = dice.randrange(60)
    before: list[bytes] = []

    def talk(process: SimProcess) -> int:
        host = scene.hosts[next(iter(scene.hosts))]
        for n in range(60):
            if n == cut:
                before.append(bytes(host.log))
                host.log.clear()
            process.print(f"line {n}\n")
            process.sleep(dice.expovariate(0.4))
        return 0

    scene.scripts["talk"] = talk
    scene.runner.create(placement(KEY))
    assert scene.kernel.run(lambda: scene.ended() and scene.quiet(), 1500)
    (first,), (host,) = before, scene.hosts.values()
    kept, told, later = scene.log().partition(b"\n[bastion] the job truncated its own output: at least ")
    if not told:  # it had printed nothing
        assert (first, kept) == (b"", bytes(host.log))
        return
    lost, _, rest = later.partition(b" bytes are not in this log\n")
    assert first.startswith(kept)
    assert len(kept) + int(lost) <= len(first)  # what was printed and removed between two looks nobody saw
    assert rest == bytes(host.log)


def test_a_bucket_that_hangs_keeps_no_worker_from_enforcing_the_time_limit() -> None:
    scene = Scene(1, time_limit_s=20.0, grace_s=5.0)
    scene.kernel.now = CALM_S
    scene.runner.create(placement(KEY))
    assert scene.kernel.run(lambda: scene.starts == 1, 60)
    scene.storm.away_until = scene.kernel.now + 3600
    (host,) = scene.hosts.values()
    process = host.process
    assert process is not None
    assert scene.kernel.run(lambda: not process.life.alive, 60), "the process outlived its limit"
    assert scene.kernel.run(scene.ended, 4000)
    facts = scene.facts()
    assert facts is not None
    assert (facts.cause, facts.exit_code) == (Cause.TIME_LIMIT, 9)
    assert scene.log() == bytes(host.log)


def test_output_that_nobody_follows_is_stored_seldom_and_soon_when_somebody_does() -> None:
    scene = Scene(2)
    scene.kernel.now = CALM_S
    scene.runner.create(placement(KEY))
    scene.kernel.run(lambda: scene.starts == 1, 60)
    scene.kernel.sleep(65)
    segments = partial(lambda: len(logs.survey(scene.store, layout.log(KEY, 0)).segments))
    before = segments()
    scene.kernel.sleep(28)
    assert segments() - before <= 1
    scene.store.write(layout.watch(KEY.job, KEY.task), b"1")
    scene.kernel.sleep(20)
    assert segments() - before >= 5


def test_a_stop_order_is_seen_without_a_notice() -> None:
    scene = Scene(3)
    scene.kernel.now = CALM_S
    scene.runner.create(placement(KEY))
    scene.kernel.run(lambda: scene.starts == 1, 60)
    scene.stop()
    begun = scene.kernel.now
    assert scene.kernel.run(scene.ended, 60)
    assert scene.kernel.now - begun < 10


def test_beats_go_on_from_the_claim_to_the_end_also_while_an_order_is_missing() -> None:
    scene = Scene(4)
    scene.kernel.now = CALM_S
    scene.store.delete([layout.order(KEY)])
    scene.runner.create(placement(KEY))
    scene.kernel.sleep(100)
    assert int(scene.store.read(layout.beat(KEY, 0)).data) in {6, 7}


@pytest.mark.parametrize(("listing_s", "known"), [(4.0, True), (3600.0, False)])
def test_the_end_of_a_quick_command_waits_for_the_stores_time_one_beat_long(listing_s: float, known: bool) -> None:
    scene = Scene(6, time_limit_s=0.5, grace_s=0.0)
    scene.kernel.now, scene.storm.listing_s = CALM_S, listing_s
    scene.runner.create(placement(KEY))
    assert scene.kernel.run(scene.ended, 60)
    facts = scene.facts()
    assert facts is not None
    assert facts.cause is Cause.TIME_LIMIT
    assert (facts.started is not None, facts.ended is not None) == (known, known)


def test_a_stop_order_of_a_newer_bastion_is_one_to_stop_with_the_jobs_own_grace() -> None:
    """A worker outlives the bastion that started it, and the next one may be of a version that it does not know."""
    scene = Scene(5, grace_s=20.0)
    scene.kernel.now = CALM_S
    scene.runner.create(placement(KEY))
    scene.kernel.run(lambda: scene.starts == 1, 60)
    scene.store.create(layout.stop(KEY), b'{"schema": 99, "unheard_of": 1}')
    assert scene.kernel.run(scene.ended, 60)
    facts = scene.facts()
    assert facts is not None
    assert (facts.cause, facts.exit_code) == (Cause.CANCELLED, 9), "it had no notice"
    assert scene.log().endswith(b"saved\n")
