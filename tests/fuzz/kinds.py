"""Every parser of what a stranger can write: valid inputs, the parser, and what is done with an answer of it."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zstandard

from bastion.bundler import ignore
from bastion.bundler.checkout import plain
from bastion.bundler.git_commands import WantedCommit
from bastion.bundler.interface import DIFF_BYTES
from bastion.bundler.unpack import unpack
from bastion.journal import journal_reader, leadership, logs, recover
from bastion.journal.fold import apply
from bastion.journal.recover import one_by_one
from bastion.journal.tombstones import Tombstone
from bastion.launcher.access import bucket_rights
from bastion.launcher.access.health_checks import FILES, PREFIXES, HealthLevel
from bastion.launcher.access.iam_conditions import holds
from bastion.launcher.explain.gpu_lines import GpuLine
from bastion.launcher.explain.waiting_text import ago
from bastion.launcher.explain.worker_facts import WorkerReport
from bastion.launcher.read.job_rows import rfc3339
from bastion.launcher.submit import profiles
from bastion.launcher.submit.spec_file import fields_of
from bastion.model import layout
from bastion.model.codec import decode, encode
from bastion.model.errors import RecordError
from bastion.model.job.audit_line import split
from bastion.model.job.repo_url import faults
from bastion.model.job.spec import deserialize_jobspec, serialize_jobspec
from bastion.model.settings.config import Config
from bastion.model.state.state import State
from bastion.model.stored import status
from bastion.model.stored.events import FileBroken
from bastion.model.stored.journal_object import Gaps
from bastion.model.stored.records import Order, Peers, StopOrder
from bastion.model.stored.requests import Request, parse
from bastion.model.stored.status import summary
from bastion.platform.system import SystemClock
from bastion.quota.quota import Quota
from bastion.runners.worker.exit_reason import fatal_line
from bastion.runners.worker.progress import Progress
from bastion.schedule.plan import DecisionInputs
from bastion.service import admin_files
from bastion.service.checkpoints import Checkpoints
from bastion.service.observations import FactsRead, UnreadableObject, note
from bastion.service.received_request import ReceivedRequest
from bastion.service.reconcile import read_facts
from bastion.service.request_handler import RequestHandler
from bastion.simulate import trace
from tests.fuzz import samples
from tests.fuzz.samples import KEY
from tests.support.doors import folded, memory
from tests.support.world import NOON
from tests.support.yard import KEY as YARDS
from tests.support.yard import Yard

OPEN = DecisionInputs(quota=Quota.open(), config=Config(admins=["root"]))


@dataclass(frozen=True)
class Kind:
    """`parse` refuses what is bad by one of our errors, and does with the rest what is done with it in earnest.

    Of `tries` spoiled inputs at least `bad` are refused; 0: what this reads cannot be wrong.
    """

    name: str
    samples: tuple[bytes, ...]
    form: str
    parse: Callable[[bytes], object]
    tries: int = 1_000
    bad: int = 700


def request(data: bytes) -> None:
    """As the inbox does, up to the event in the journal."""
    found: Request = parse(data)
    received = ReceivedRequest("inbox/alice/r.json", "alice", "r" * 32, found)
    event = RequestHandler(folded(), OPEN).event(received, all_read=True)
    assert event is not None
    encode(event)
    apply(State(now=NOON), event, 0, 0)


def spec(data: bytes) -> None:
    """What was read is written as it was read."""
    found = deserialize_jobspec(data)
    assert deserialize_jobspec(serialize_jobspec(found)) == found


def admins_file(name: str) -> Callable[[bytes], None]:
    """As a bastion reads it: an event in any case, which says what is wrong."""

    def read(data: bytes) -> None:
        bucket = memory()
        bucket.write(admin_files.KEYS[name], data)
        (seen,) = (file for file in admin_files.read(bucket, SystemClock()).files if file.file == name)
        (event,) = admin_files.note(State(now=NOON), seen, lambda _: ())
        assert len(encode(event)) < 2 * len(data) + 8_192
        if isinstance(event, FileBroken):
            raise RecordError(event.problem)
        split(data.decode("utf-8", "replace"))

    return read


def journal(data: bytes) -> None:
    """As a bastion that starts."""
    bucket = memory()
    bucket.create(layout.journal(0), samples.FIRST)
    bucket.create(layout.journal(1), data)
    encode(recover.load(bucket))


def looked_at(data: bytes) -> None:
    """As a command that looks: what cannot be read is a hole."""
    bucket, gaps = memory(), Gaps()
    bucket.create(layout.journal(0), samples.FIRST)
    bucket.create(layout.journal(1), data)
    encode(journal_reader.load(bucket, one_by_one, gaps))
    journal_reader.time_of(bucket, 1)
    if gaps.found:
        raise RecordError(gaps.found[0].problem)


def facts(data: bytes) -> None:
    """As bastion and clients do."""
    bucket = memory()
    bucket.write(layout.facts(KEY, 0), data)
    found = read_facts(bucket, KEY, 0)
    if found is None:
        raise RecordError("no facts")
    _taken_in(FactsRead(KEY, 0, found, gone=True))
    json.dumps([rfc3339(found.checkpoint_at), rfc3339(found.started), rfc3339(found.ended)])
    ago(found.checkpoint_at or NOON, NOON)
    assert 0 <= (found.exit_code or 0) <= 255
    for gpu in WorkerReport(KEY, 0, found).facts.gpus:
        seen = GpuLine(KEY, 0, gpu)
        json.dumps([seen.line(), seen.row()])


def _taken_in(seen: FactsRead) -> None:
    state = folded(*samples.EVENTS[:3])
    for event in [*note(state, seen, NOON), *Checkpoints().news(state, [seen], NOON)]:
        assert len(encode(event)) < 8_192
        apply(state, event, state.seq, 0)


def claim(data: bytes) -> None:
    """As a reconciler does: what cannot be read is trouble, and voids nobody."""
    yard = Yard()
    yard.bucket.inner.create(layout.claim(YARDS, 0), data)
    yard.runner.has("m", YARDS, 0, 3)
    for seen in yard.turn():
        if isinstance(seen, UnreadableObject):
            raise RecordError(seen.what)
        for event in note(yard.state, seen, NOON):
            assert len(encode(event)) < 8_192
            yard.folds(event)
    yard.turn()


def sign_of_life(data: bytes) -> None:
    """As a standby and as `bastion status` do."""
    found = leadership.parse(data)
    if found is None:
        raise RecordError("no status")
    leadership.vacant(found, "h", "b", alive=True)
    json.dumps(summary("b", found, now=NOON, died=False))
    status.problems(found, now=NOON, died=False)


def paper(kind: type[Any]) -> Callable[[bytes], None]:
    """As a worker or a client reads it."""
    return lambda data: encode(decode(data, kind, "paper")) and None


def key(data: bytes) -> None:
    """What lists: names that are none of ours are told from ours, and a request of any name is read or refused."""
    name = data.decode("utf-8", "replace")
    (
        layout.is_journal(name),
        layout.is_snapshot(name),
        layout.is_probe(name),
        layout.home(name),
        layout.request_name(name),
    )
    worker = layout.worker_of(name)
    named = layout.request_of(name)
    if worker is None and named is None:
        raise RecordError(f"{name!a} names nothing")
    if worker is not None:
        assert name in (layout.claim(*worker), layout.beat(*worker), layout.facts(*worker), *_nearly(name, worker))


def _nearly(name: str, worker: Any) -> tuple[str, ...]:
    """Other prefixes, and a worker's number with or without its ending: the prefix was chosen by who listed."""
    tail = f"{worker[0]}/{worker[1]}"
    return tuple(f"{name.partition('/')[0]}/{tail}{end}" for end in ("", ".json"))


def log(data: bytes) -> None:
    """As a follower and a worker do: nothing is wrong with a log."""
    lines = logs.LineSplitter()
    shown = [*lines.feed(data[: len(data) // 2]), *lines.feed(data[len(data) // 2 :]), *lines.close()]
    assert "".join(shown).count("\n") == 0
    fatal_line(data)


def progress(data: bytes) -> None:
    """As a worker reads what a process writes: what is no progress is passed over."""
    Progress().after(data, NOON)


def archive(data: bytes) -> None:
    """As a worker unpacks what a user packed, into a folder that nothing leaves."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            unpack(
                data, hashlib.sha256(data).hexdigest(), Path(folder, "in", "code"), limit_bytes=2**20, limit_files=64
            )
        finally:
            assert sorted(path.name for path in Path(folder).iterdir()) == ["in"]
            assert {path.name for path in Path(folder, "in").iterdir()} <= {"code"}


def tar(data: bytes) -> None:
    """The same, of an archive that is compressed as it should be."""
    archive(zstandard.ZstdCompressor(level=1).compress(data))


def repository(data: bytes) -> None:
    """A commit that a spec names: what git would take for a flag, a secret or a way out is refused."""
    url, commit, folder, *_ = [*data.decode("utf-8", "replace").split("\n", 2), "", ""]
    if wrong := list(faults(url, commit, folder)):
        raise RecordError("; ".join(wrong))
    assert not url.startswith("-")


def trace_file(data: bytes) -> None:
    """The jobs of a cluster, for a simulation."""
    trace.read(data.decode("utf-8", "replace").splitlines(keepends=True), "v4")


def spec_file(data: bytes) -> None:
    """A spec that somebody has sent."""
    fields_of(data, "gs://team/b")


def policy(data: bytes) -> None:
    """As the doctor does: an answer that is spoiled is no all-clear."""
    try:
        told = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise RecordError("no JSON") from error  # the store's client says so
    first, second, *_ = [*told, None, None] if isinstance(told, list) else (told, None)
    part = bucket_rights.BucketPart(bucket_rights.read("b", first, second), "team/", (*PREFIXES, *FILES))
    found = list(bucket_rights.checks([part]))
    json.dumps([check.found for check in found])
    if any(check.level is not HealthLevel.OK for check in found):
        raise RecordError("something is to be done")


def condition(data: bytes) -> None:
    """A condition that is not understood holds for nobody knows whom."""
    if holds(data.decode("utf-8", "replace"), "projects/_/buckets/b/objects/team/inbox/alice/r.json") is None:
        raise RecordError("nobody knows")


def changes(data: bytes) -> None:
    """What is put on top of a commit, up to where git reads it. Its digest is right: the same user wrote both."""
    wanted = WantedCommit(repo="https://h/r", commit="0" * 40, digest=hashlib.sha256(data).hexdigest())
    assert len(plain(data, wanted)) <= DIFF_BYTES


def ignored(data: bytes) -> None:
    """A file of patterns, in a folder that somebody else wrote."""
    rules = ignore.IgnoreRules(git=(ignore.IgnoreFile(ignore.parse(data.decode("utf-8", "replace"), ".gitignore")),))
    for path in ("train.py", "a/b/c.txt", "build", "a" * 40):
        assert rules.drops(path, is_folder=False) in (True, False)


def profiles_file(data: bytes) -> None:
    """As every command reads it."""
    found = profiles.parse(data.decode("utf-8", "replace"), "config.toml")
    for name in found.named:
        found.get(name, "--profile")


KINDS = (
    Kind("request", samples.REQUESTS, "json", request, 1_940, 1_460),
    Kind("job spec", samples.SPECS, "json", spec, 1_760, 1_340),
    Kind("quota file", samples.QUOTAS, "toml", admins_file("quota"), 1_500, 1_190),
    Kind("config file", samples.CONFIGS, "toml", admins_file("config"), 1_500, 1_190),
    Kind("journal object", (samples.SECOND,), "json", journal, 1_760, 1_350),
    Kind("journal object, looked at", (samples.SECOND,), "json", looked_at, 1_410, 1_080),
    Kind("snapshot", samples.SNAPSHOTS, "bytes", lambda data: recover.unpack_snapshot(data, "it"), 880, 680),
    Kind("trace of a job", samples.TRACES, "json", paper(Tombstone), 880, 690),
    Kind("worker's facts", samples.FACTS, "json", facts, 1_760, 1_340),
    Kind("claim", samples.CLAIMS, "json", claim, 1_320, 990),
    Kind("status", samples.STATUSES, "json", sign_of_life, 1_060, 830),
    Kind("order", samples.ORDERS, "json", paper(Order), 1_060, 810),
    Kind("stop order", samples.STOPS, "json", paper(StopOrder), 880, 670),
    Kind("world", samples.WORLDS, "json", paper(Peers), 880, 670),
    Kind("bundle", (zstandard.ZstdCompressor().compress(samples.tar()),), "bytes", archive, 880, 670),
    Kind("archive in a bundle", (samples.tar(),), "bytes", tar, 1_060, 610),
    Kind("commit of a repository", samples.REPOS, "text", repository, 880, 600),
    Kind("trace file", samples.CSVS, "text", trace_file, 880, 700),
    Kind("spec file in JSON", samples.SPECS, "json", spec_file, 1_060, 800),
    Kind("spec file in TOML", samples.TOMLS, "toml", spec_file, 1_060, 840),
    Kind("rights that a store tells", samples.POLICIES, "json", policy, 880, 630),
    Kind("condition of a right", samples.CONDITIONS, "text", condition, 880, 640),
    Kind("key of a listing", samples.KEYS, "text", key, 880, 590),
    Kind(
        "changes on top of a commit", (zstandard.ZstdCompressor().compress(samples.DIFF),), "bytes", changes, 880, 400
    ),
    Kind("file of patterns", samples.IGNORES, "text", ignored, 880, 0),
    Kind("file of profiles", samples.PROFILES, "toml", profiles_file, 880, 600),
    Kind("log segment", samples.LOGS, "bytes", log, 880, 0),
    Kind("progress file", samples.PROGRESS, "json", progress, 880, 0),
)
