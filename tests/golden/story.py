"""What is recorded: a short story in which everything happens once that a journal can tell."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import msgspec

from bastion.journal import recover, tombstones
from bastion.journal.journal import Journal
from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.interfaces import AttemptKey, Bucket
from bastion.model.job.alternatives import Alternative
from bastion.model.job.spec import BundleRef, JobSpec, Provenance, new_jobspec
from bastion.model.job.spec_changes import Changes
from bastion.model.settings.config import Config, render
from bastion.model.state.state import Cause, JobState, State
from bastion.model.stored.events import (
    AnyEvent,
    AttemptLost,
    CancelRequested,
    CapacityChanged,
    Claimed,
    Decided,
    Ended,
    Epoch,
    Exited,
    FileBroken,
    FileChanged,
    Forgotten,
    Gone,
    Held,
    Illegal,
    ImageBuilt,
    JobRejected,
    Lapsed,
    LossAccepted,
    Moved,
    Paused,
    ReclaimDropped,
    Released,
    RequestRejected,
    RequestsDropped,
    Resumed,
    Saved,
    SightChanged,
    Started,
    Stopping,
    Submitted,
    Topped,
    Updated,
    Voided,
    Waiting,
)
from bastion.model.stored.gpu_facts import Gpu, Xid
from bastion.model.stored.records import Claim, Facts
from bastion.model.stored.requests import Cancel, Hold, Pause, Release, Resume, Submit, Top, Update
from bastion.model.stored.status import Status
from bastion.runners.local.render import LocalMachineName
from bastion.schedule.desired import desired, order, peers, stop_order
from tests.support.world import HandClock

DAWN = datetime(2026, 1, 31, 6, tzinfo=UTC)
QUOTA = '[toml-schema]\nversion = "1"\n[total_resources]\nv4 = 8\n[project_membership]\nnlp = ["alice", "bob"]\n'
MACHINE = str(
    LocalMachineName(scope="demo|1", key=AttemptKey("gang-22222222", 0, 0), worker=1, epoch=1, nonce="c0ffee")
)
CODE = BundleRef(type="tar", key="bundles/" + "ab" * 32 + ".tar.zst", digest="ab" * 32)

BUILD = "projects/p/locations/europe-west4/builds/0d4af07e-1111-4222-8333-444455556666"
IMAGE = BundleRef(type="image", image="europe-west4-docker.pkg.dev/p/images/train", build=BUILD)

A: dict[str, Any] = {"job": "plain-11111111", "task": 0, "attempt": 0}
B: dict[str, Any] = {"job": "gang-22222222", "task": 0, "attempt": 0}


def at(minutes: float) -> datetime:
    """So long after dawn."""
    return DAWN + timedelta(minutes=minutes)


def wish(name: str, **more: Any) -> JobSpec:
    """A small job of alice's."""
    usual = {"resources": {"v4": 1}, "command": ["train", "me"]}
    return new_jobspec(name=name, user="alice", project="nlp", **{**usual, **more})


FULL = wish(
    "gang", command="train --all", env={"A": "1"}, resources={"v4": 2, "cpu": 4}, instance_type="v4-8", replicas=2,
    priority=2, max_tries=3, retry_interval_s=5.0, grace_s=20.0, time_limit_s=7200.0, begin=at(1), deadline=at(600),
    job_class="urgent", max_tier=1, bundle=CODE, setup="make ready", output_dir="gs://out/gang",
    checkpoint_dir="/ckpt/gang",
    alternatives=[Alternative(resources={"v5p": 2, "cpu": 4}, replicas=3, instance_type="v5p-8")],
    provenance=Provenance(host="laptop", git_commit="c" * 40, git_dirty=True, client_version="0.1.0", submitted=at(0)),
)  # fmt: skip

ARRAY = wish("array", count=3, max_parallel=1, after=["ok:plain-11111111"])


def ticks() -> Iterator[list[AnyEvent]]:
    """What happens, tick by tick: a minute each."""
    yield [
        Epoch(epoch=1, host="vm", pid=7, version="0.1.0"),
        FileChanged(file="quota", version="1", text=QUOTA),
        FileChanged(file="config", version="1", text=render(Config(capacity={"v4": 8}))),
        CapacityChanged(runner="local", resources={"v4": 8, "cpu": 64}),
        SightChanged(runner="local", why="no route"),
        SightChanged(runner="local"),
        SightChanged(runner="far", why="no route"),
    ]
    yield [
        Submitted(request="alice/1", job="plain-11111111", spec=wish("plain")),
        Submitted(request="alice/2", job="gang-22222222", spec=FULL),
        Submitted(
            request="alice/3",
            job="array-33333333",
            spec=wish("array", count=3, max_parallel=1, after=["ok:plain-11111111"]),
        ),
        Submitted(request="alice/4", job="late-44444444", spec=wish("late", deadline=at(5))),
        Submitted(request="alice/5", job="rest-55555555", spec=wish("rest")),
        Submitted(request="alice/18", job="made-77777777", spec=wish("made", bundle=IMAGE)),
        Submitted(request="alice/19", job="unmade-88888888", spec=wish("unmade", bundle=IMAGE)),
        JobRejected(request="bob/6", job="big-66666666", name="big", user="bob", project="nlp", reason="too much"),
        RequestRejected(request="bob/7", user="bob", reason="there is no job x", job="x"),
    ]
    yield [
        Decided(events=2, digest="0123456789abcdef", waiting=5, live=0, now=at(2.5)),
        Started(**A, runner="local", tier=0, workers=1),
        Started(**B, runner="local", tier=0, workers=2, overdue=True),
    ]
    yield [
        Claimed(**A, worker=0, machine="m-a", address="127.0.0.1", port=4000),
        Claimed(**B, worker=0, machine="m-b", address="10.0.0.1", port=4001),
        Claimed(**B, worker=1, machine=MACHINE, address="10.0.0.2", port=4002),
        Saved(**B, at=at(3), every_s=600.0),
        Moved(**B, tier=1),
    ]
    yield [
        Held(request="alice/8", user="alice", job="rest-55555555"),
        Released(request="alice/9", user="alice", job="rest-55555555"),
        Topped(request="alice/10", user="alice", job="rest-55555555"),
        Updated(request="alice/11", user="alice", job="rest-55555555", changes=Changes(priority=1, time_limit_s=60.0)),
        Updated(request="alice/12", user="alice", job="rest-55555555", changes=Changes(command=["new"], bundle=CODE)),
        ImageBuilt(job="made-77777777", digest="cd" * 32),
        Paused(request="bob/13", user="bob"),
        Resumed(request="bob/14", user="bob"),
        Stopping(**B, cause=Cause.PREEMPTED, deadline=at(5), reason="for alice", for_job="rest-55555555", lost_s=30.0),
    ]
    yield [
        Exited(**A, worker=0, cause=Cause.OK, exit_code=0, message="", step=7),
        Gone(**A, worker=0),
        Ended(**A, cause=Cause.OK, outcome=JobState.SUCCEEDED, reason="exit code 0", exit_code=0),
        Lapsed(job="late-44444444", outcome=JobState.TIMEOUT, reason="its deadline passed before it could start"),
    ]
    yield [
        Exited(**B, worker=1, cause=Cause.SIGNAL, exit_code=143, message="told to stop", step=9),
        Gone(**B, worker=0),
        Gone(**B, worker=1),
        Ended(**B, cause=Cause.PREEMPTED, outcome=JobState.PENDING, reason="for alice", exit_code=143, ready_at=at(8)),
        ReclaimDropped(job="rest-55555555"),
    ]
    again = {**B, "attempt": 1}
    yield [
        Started(**again, runner="local", tier=0, workers=2, choice=1),
        Waiting(**again, reason="v4-2 (spot) is queued in us-central2-b"),
        Stopping(**again, cause=Cause.VOID, deadline=at(20), reason="nobody came"),
        Voided(**again, worker=0),
        Voided(**again, worker=1),
        Ended(**again, cause=Cause.VOID, outcome=JobState.PENDING, reason="no worker came up"),
        CancelRequested(request="alice/15", user="alice", job="array-33333333", task=1),
        FileBroken(file="quota", version="2", problem="line 1 is no TOML"),
        RequestsDropped(user="bob", count=3, reason="too many at once"),
        Forgotten(requests=["bob/7"], jobs=["big-66666666"]),
        AttemptLost(job="array-33333333", task=2, attempt=0, reason="it was lost with the end of the journal"),
        LossAccepted(user="root", first=7, last=9),
        Illegal(what="Gone: gang-22222222/0/0 is not live"),
    ]


REQUESTS = {
    "submit": Submit(spec=FULL),
    "cancel": Cancel(job="array-33333333", task=2),
    "hold": Hold(job="rest-55555555"),
    "release": Release(job="rest-55555555"),
    "top": Top(job="rest-55555555"),
    "update": Update(job="rest-55555555", changes=Changes(after=["any:plain-11111111"], deadline=None)),
    "pause": Pause(),
    "resume": Resume(),
}


class Numbers:
    """`Ids` that count."""

    def __init__(self) -> None:
        self._next = count()

    def new(self) -> str:
        """The next one."""
        return f"{next(self._next):032}"


def tell(bucket: Bucket) -> State:
    """Write all of it. The state at the end."""
    ids = Numbers()
    journal = Journal(bucket, HandClock(), ids, State())
    for minute, events in enumerate(ticks()):
        journal.begin(at(minute))
        if isinstance(events[0], Epoch):
            journal.epoch = events[0].epoch
        assert all(journal.add(event) for event in events), events
        journal.commit()
        if minute == 4:
            bucket.create(layout.snapshot(journal.state.seq), recover.pack_snapshot(journal.state))
            _papers(bucket, journal.state)
    tombstones.leave(bucket, journal.state.jobs["plain-11111111"])
    for name, request in REQUESTS.items():
        bucket.create(layout.request("alice", name), encode(request))
    bucket.create(layout.CONFIG, render(Config(admins=["root"], capacity={"v4": 8})).encode())
    bucket.create(layout.QUOTA, QUOTA.encode())
    bucket.create(layout.STATUS, encode(_status(journal.state)))
    return journal.state


def _papers(bucket: Bucket, state: State) -> None:
    """What bastion and workers have left for each other while the gang is being stopped."""
    row = next(row for row in desired(state) if row.key.job == "gang-22222222")
    bucket.create(layout.order(row.key), encode(order(row, FULL)))
    bucket.create(layout.stop(row.key), encode(stop_order(row)))
    bucket.create(layout.peers(row.key), encode(peers(row)))
    bucket.create(layout.claim(row.key, 0), encode(Claim(void=True, nonce="n0")))
    claim = Claim(machine=MACHINE, address="10.0.0.2", port=4002, nonce="n1")
    bucket.create(layout.claim(row.key, 1), encode(claim))
    gpu = Gpu(index="0", name="H200", memory_used_mib=1, temperature_c=40, xids=(Xid(code=79, at=at(4)),))
    facts = Facts(
        phase="ended", machine=MACHINE, cause=Cause.SIGNAL, exit_code=143, message="told to stop", step=9,
        checkpoint_at=at(3), started=at(2), ended=at(5), gpus=[msgspec.structs.replace(gpu)], version="0.1.0",
    )  # fmt: skip
    bucket.create(layout.facts(row.key, 1), encode(facts))


def _status(state: State) -> Status:
    return Status(
        name="demo", state="running", epoch=1, nonce="n", pid=7, host="vm", boot="b", version="0.1.0", seq=state.seq,
        ticks=9, written=at(9), last_tick=at(9), poll_s=1.0, counts={"PENDING": 3}, capacity={"v4": 8}, problems=["one"],
        paused=None,
    )  # fmt: skip
