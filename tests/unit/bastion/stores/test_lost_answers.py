"""Every conditional write of ours knows its own hand: whatever loses its answer, all goes on as if none had been lost."""

from __future__ import annotations

import ast
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import pytest

from bastion.bundler.content_upload import upload
from bastion.cli.bastion.create import store
from bastion.cli.common.compare_and_swap import exchange
from bastion.journal import logs, snapshot, tombstones
from bastion.journal.recover import newest_snapshot
from bastion.launcher.submit.sending import send
from bastion.launcher.submit.without_bastion import WithoutBastion
from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.errors import BucketError
from bastion.model.interfaces import AttemptKey, Machine, Stat, StoredObject
from bastion.model.state.state import Cause, JobState
from bastion.model.stored.events import Decided
from bastion.model.stored.records import Facts
from bastion.model.stored.requests import Cancel, Submit
from bastion.runners.worker.worker_report import OwnedObject
from bastion.stores.memory import MemoryBucket
from tests.house.source import modules
from tests.simulation.parts.fleet import SimRunner
from tests.simulation.parts.host import SimHost, SimProcess
from tests.simulation.parts.kernel import Kernel, SimClock
from tests.support.doors import memory
from tests.support.town import Town
from tests.support.world import NOON, HandClock, World, spec

KEY = AttemptKey("train-12345678", 0, 0)


@dataclass
class Lossy:
    """A bucket that loses the answer of the first conditional write that takes effect on each version of each key.

    `again`: its client asks once more by itself, and so is refused by its own first try. Else it says that it does not know.
    """

    again: bool
    inner: MemoryBucket = field(default_factory=memory)
    lost: Counter[str] = field(default_factory=Counter)
    calm: bool = False
    url: str = "memory://lossy"

    def read(self, key: str, limit: int | None = None) -> StoredObject:
        return self.inner.read(key, limit)

    def create(self, key: str, data: bytes) -> str | None:
        return self._lose(key, data, self.inner.create(key, data))

    def replace(self, key: str, data: bytes, version: str) -> str | None:
        return self._lose(key, data, self.inner.replace(key, data, version))

    def write(self, key: str, data: bytes) -> str:
        return self.inner.write(key, data)

    def delete(self, keys: Iterable[str]) -> None:
        self.inner.delete(keys)

    def list(self, prefix: str, *, after: str = "") -> Iterator[Stat]:
        return self.inner.list(prefix, after=after)

    def _lose(self, key: str, data: bytes, version: str | None) -> str | None:
        if version is None or self.calm:
            return version
        self.lost[key] += 1
        if not self.again:
            raise BucketError(f"no answer about {key}")
        return None


LOSSY = pytest.mark.parametrize("again", [True, False], ids=["asked again", "unknown"])


def patient(work: Callable[[], object], tries: int = 5) -> None:
    """As whoever calls it does: again while the outcome is unknown."""
    for _ in range(tries):
        try:
            work()
        except BucketError:
            continue
        return
    raise AssertionError("it is never settled")


# The bastion


def life(bucket: Lossy | MemoryBucket) -> Town:
    """A gang that ends, a job that is stopped while it runs, and one that is given up before it came."""
    town = Town(bucket=bucket)
    town = others_lose_nothing(town, bucket) if isinstance(bucket, Lossy) else town
    gang = town.submits(name="gang", replicas=2)
    town.ticks(3)
    key = town.runs(gang, workers=2)
    town.ticks(3)
    for worker in range(2):
        town.says(key, Cause.OK, 0, worker)
    town.ticks(20)
    for worker in range(2):
        town.runner.loses(f"machine-{key}-{worker}")
    stopped, never = town.submits(name="stopped"), town.submits(name="never")
    town.ticks(5)
    town.runs(stopped)
    town.cancels(stopped)
    town.cancels(never)
    town.ticks(20)
    town.runner.loses(f"machine-{AttemptKey(stopped, 0, 0)}-0")
    town.ticks(20)
    states = [town.job(job).state for job in (gang, stopped, never)]
    assert states == [JobState.SUCCEEDED, JobState.CANCELLED, JobState.CANCELLED]
    town.bastion.close()
    return town


def others_lose_nothing(town: Town, lossy: Lossy) -> Town:
    """Only the bastion writes by way of the lossy bucket."""

    def calmly(act: Callable[..., object]) -> Callable[..., object]:
        def calm(*words: object, **fields: object) -> object:
            lossy.calm = True
            try:
                return act(*words, **fields)
            finally:
                lossy.calm = False

        return calm

    for verb in ("submits", "claims", "cancels"):
        setattr(town, verb, calmly(getattr(town, verb)))
    return town


def told(town: Town) -> list[str]:
    return sorted(type(event).__name__ for event in town.journal() if not isinstance(event, Decided))


@LOSSY
def test_a_bastion_loses_the_answer_of_every_write_and_decides_as_if_it_had_not(
    again: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "bastion")  # so that its own log has lines
    plain, lossy = life(memory()), Lossy(again)
    town = life(lossy)
    assert told(town) == told(plain)
    assert [type(event).__name__ for event in town.journal()].count("Epoch") == 1
    assert town.status().state == "stopped"
    for prefix in (layout.JOURNAL, layout.STATUS, layout.ATTEMPTS, layout.CLAIMS, layout.BASTION_LOG):
        assert any(key.startswith(prefix) for key in lossy.lost), prefix
    for paper in ("order.json", "stop.json", "world.json"):
        assert any(key.endswith(paper) for key in lossy.lost), paper
    said = [stat.key for stat in lossy.list(layout.bastion_log(1))]
    assert said == [layout.segment(layout.bastion_log(1), number) for number in range(len(said))]


@LOSSY
def test_a_snapshot_and_a_trace_are_written_once(again: bool) -> None:
    world = World()
    job = world.submitted()
    lossy = Lossy(again)
    for stat in world.bucket.list(""):
        lossy.inner.write(stat.key, world.bucket.read(stat.key).data)
    patient(lambda: snapshot.make(lossy))
    patient(lambda: tombstones.leave(lossy, world.journal.state.jobs[job]))
    found = newest_snapshot(lossy)
    assert found is not None
    assert job in found.jobs
    assert tombstones.of(lossy, job) == world.journal.state.jobs[job]
    assert len(lossy.lost) == 2


# The worker


@LOSSY
def test_a_worker_loses_the_answer_of_every_write_and_runs_once_with_a_whole_log(again: bool) -> None:
    kernel, runs = Kernel(1), list[int]()
    lossy = Lossy(again, memory(SimClock(kernel).wall))
    WithoutBastion(lossy.inner, KEY, 1).order(spec(name="train", command="work"))

    def work(process: SimProcess) -> int:
        runs.append(1)
        for number in range(300):
            process.print(f"line {number}\n")
            process.say_progress(f'{{"step": {number}}}\n')
            process.sleep(1)
        return 0

    hosts: dict[str, SimHost] = {}
    runner = SimRunner(kernel, lambda _: lossy, {"work": work}, hosts)
    host = hosts["m"] = SimHost(kernel, {"work": work}, Machine(id="m", key=KEY, worker=0, epoch=1))
    kernel.spawn(host.worker, lambda: runner.work(host))
    assert kernel.run(lambda: not host.there, 4_000)
    assert runs == [1]
    extent = logs.survey(lossy, layout.log(KEY, 0))
    assert extent.ended
    assert b"".join(logs.read(lossy, extent.segments)).decode() == "".join(f"line {n}\n" for n in range(300))
    facts = WithoutBastion(lossy.inner, KEY, 1).facts(0)
    assert facts is not None
    assert (facts.cause, facts.step) == (Cause.OK, 299)
    assert {key.split("/")[0] for key in lossy.lost} == {"claims", "logs", "workers"}


@LOSSY
def test_facts_are_the_newest_whatever_is_lost(again: bool) -> None:
    lossy = Lossy(again)
    slot = OwnedObject(lossy, "facts")
    for step in range(4):
        data = encode(Facts(phase="running", machine="m", step=step))
        patient(lambda data=data: slot.put(data))  # type: ignore[misc]
        assert lossy.read("facts").data == data


# The client


@LOSSY
def test_a_request_is_sent_once_and_nobody_is_told_that_it_was_not(again: bool) -> None:
    lossy = Lossy(again)
    for request_id, request in (("1" * 32, Submit(spec=spec())), ("2" * 32, Cancel(job="j"))):
        send(lossy, user="alice", request_id=request_id, request=request)
    assert len(list(lossy.list(layout.INBOX))) == len(lossy.lost) == 2


def test_a_request_whose_fate_nobody_knows_says_where_to_look() -> None:
    class Away(Lossy):
        def create(self, key: str, data: bytes) -> str | None:
            raise BucketError("away")

    with pytest.raises(
        BucketError,
        match=r"it is not known if the request arrived; check with launch show j-11111111 before you repeat",
    ):
        send(Away(False), user="alice", request_id="1" * 32, request=Submit(spec=spec()))


@LOSSY
def test_an_admins_file_is_put_and_replaced(again: bool) -> None:
    lossy = Lossy(again)
    exchange(lossy, layout.QUOTA, b"one", None)
    exchange(lossy, layout.QUOTA, b"two", lossy.read(layout.QUOTA).version)
    assert lossy.read(layout.QUOTA).data == b"two"
    store(lossy, {"poll": 2.0}, "root", NOON)
    assert store(lossy, {"poll": 3.0}, "root", NOON) == ["poll = 3.0"]
    assert b"poll = 3.0" in lossy.read(layout.CONFIG).data
    assert lossy.lost == {layout.QUOTA: 2, layout.CONFIG: 2}


@LOSSY
def test_code_is_uploaded(again: bool) -> None:
    lossy = Lossy(again)
    patient(lambda: upload(lossy, HandClock(), layout.bundle("d" * 64, "tar.zst"), lambda: b"code"))
    assert lossy.read(layout.bundle("d" * 64, "tar.zst")).data == b"code"
    assert len(lossy.lost) == 1


@LOSSY
def test_a_job_that_is_run_here_gets_its_papers(again: bool) -> None:
    lossy = Lossy(again)
    here = WithoutBastion(lossy, KEY, 1)
    patient(lambda: here.order(spec()))
    patient(lambda: here.stop(Cause.CANCELLED, 1.0, "why"))
    assert lossy.lost == {layout.order(KEY): 1, layout.stop(KEY): 1}


# And no other


WRITERS = {
    "bastion.stores.create_once",
    "bastion.journal.leadership",
    "bastion.bundler.content_upload",
    "bastion.cli.bastion.parts.doctor_checks",
    "bastion.cli.common.compare_and_swap",
    "bastion.runners.worker.worker_report",
}
"""Who writes under a condition: all else goes through these. The doctor only tries whether it may."""


def test_nobody_else_writes_under_a_condition() -> None:
    found = {
        module.name
        for module in modules().values()
        if module.name in WRITERS or not module.name.startswith("bastion.stores.")
        for call in ast.walk(module.tree)
        if isinstance(call, ast.Call) and _is_conditional(call)
    }
    assert found == WRITERS


def _is_conditional(call: ast.Call) -> bool:
    verb = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    owner = ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    return (verb, len(call.args)) in {("create", 2), ("replace", 3)} and owner.endswith("bucket")
