"""Valid inputs of every kind, as honest writers make them."""

from __future__ import annotations

import io
import json
import tarfile
from datetime import timedelta
from typing import Any

from bastion.journal.recover import pack_snapshot
from bastion.journal.tombstones import Tombstone
from bastion.model.codec import encode
from bastion.model.interfaces import AttemptKey
from bastion.model.job.alternatives import Alternative
from bastion.model.job.spec import BundleRef, JobSpec, Provenance
from bastion.model.job.spec_changes import Changes
from bastion.model.settings import config
from bastion.model.state.state import Cause
from bastion.model.stored.events import AnyEvent, CapacityChanged, Claimed, Epoch, Exited, Started, Submitted
from bastion.model.stored.gpu_facts import Gpu, Xid
from bastion.model.stored.journal_object import pack
from bastion.model.stored.records import Claim, Facts, Order, Peer, Peers, StopOrder
from bastion.model.stored.requests import Cancel, Hold, Pause, Release, Resume, Submit, Top, Update
from tests.support.doors import folded
from tests.support.world import NOON, spec, status

KEY = AttemptKey("j-1", 0, 0)
AT: dict[str, Any] = {"job": "j-1", "task": 0, "attempt": 0}

RICH: JobSpec = spec(
    env={"A": "1"}, resources={"v4": 4, "cpu": 2}, replicas=2, count=3, priority=2, max_tries=3, time_limit_s=60.0,
    after=["ok:prep-1", "any:x[3]"], begin=NOON, deadline=NOON + timedelta(days=1), max_parallel=2, setup="pip list",
    bundle=BundleRef(type="tar", key="bundles/a.tar.zst", digest="0" * 64), output_dir="gs://b/o", checkpoint_dir="/c",
    provenance=Provenance(host="h", git_commit="abc", git_dirty=True, submitted=NOON, parent="j-0"),
    alternatives=[Alternative(resources={"v5p": 8}, replicas=3, instance_type="tpu-v5p-8"), Alternative(resources={"cpu": 1})],
)  # fmt: skip
SPECS = tuple(map(encode, (spec(), RICH)))

REQUESTS = tuple(
    encode(request)
    for request in (
        Submit(spec=spec()), Submit(spec=RICH), Cancel(job="j-1"), Cancel(job="j-1", task=3), Hold(job="j-1"), Release(job="j-1"),
        Top(job="j-1"), Update(job="j-1", changes=Changes(priority=2, time_limit_s=None, deadline=NOON)),
        Update(job="j-1", changes=Changes(command="x", bundle=BundleRef(), provenance=Provenance(host="h"))), Pause(), Resume(),
    )
)  # fmt: skip

QUOTAS = (
    b"""[toml-schema]
version = "1"
[total_resources]
v4 = 64
cpu = 1_000
[project_membership]
nlp = ["alice", "bob", "team-.*"]
vision = ["bob"]
[project_admins]
nlp = ["alice"]
[project_resources.nlp]
v4 = 0.5
[project_resources.vision]
v4 = 0.333
[project_classes]
nlp = ["standard"]
[user_limits.nlp]
v4 = 8
""",
    b'[toml-schema]\nversion = "1"\n[[total_resources]]\nv4 = 8\n[[total_resources]]\nv4 = 16\n[project_membership]\na = ["x"]\n',
)

CONFIGS = (
    config.render(config.Config()).encode(),
    b"""poll = 0.5
policy = "default"
admins = ["root", "ada"]
[capacity]
v4 = 8
[git]
deploy_key = "/etc/key"
[buckets]
ttl = "gs://team-ttl/x"
[retention]
bundles_days = 30
""",
)

EVENTS: tuple[AnyEvent, ...] = (
    Submitted(request="alice/r", job="j-1", spec=spec()),
    Started(**AT, runner="local", tier=0, workers=1),
    Claimed(**AT, worker=0, machine="m", address="10.0.0.1", port=1),
    Exited(**AT, worker=0, cause=Cause.CODE, exit_code=3, message="it fell", step=7),
)
FIRST = pack(
    seq=0, epoch=1, nonce="n", now=NOON,
    events=[*map(encode, (Epoch(epoch=1, host="h", pid=1, version="0"), CapacityChanged(runner="local", resources={"v4": 8})))],
)  # fmt: skip
SECOND = pack(seq=1, epoch=1, nonce="o", now=NOON, events=[encode(event) for event in EVENTS])
STATE = folded(*EVENTS)
SNAPSHOTS = (pack_snapshot(STATE),)
TRACES = (encode(Tombstone(job=STATE.jobs["j-1"])),)

CLAIMS = (
    encode(Claim(machine="m", address="10.0.0.1", port=4000, nonce="n")),
    encode(Claim(void=True, nonce="n")),
)
FACTS = (
    encode(Facts(phase="running", machine="m", step=7, checkpoint_at=NOON, started=NOON, version="0")),
    encode(Facts(phase="ended", machine="m", cause=Cause.CODE, exit_code=3, message="it fell", ended=NOON)),
    encode(
        Facts(
            phase="running", machine="m",
            gpus=[Gpu(index="0", name="H200", memory_used_mib=1, memory_total_mib=2, ecc_uncorrected=1, rows="ok",
                      xids=[Xid(code=79, at=NOON)])],
        )
    ),
)  # fmt: skip
STATUSES = (encode(status(NOON)), encode(status(NOON, state="stopped", capacity={"v4": 8})))
ORDERS = (
    encode(
        Order(job="j-1", name="j", user="alice", project="p", task=0, count=1, attempt=0, tier=0, command=["true"],
              env={"A": "1"}, resources={"v4": 1}, replicas=1, workers=1, bundle=BundleRef(),
              output_dir="", checkpoint_dir="", grace_s=30.0,
              time_limit_s=None, max_tries=1, restart_reason="first")
    ),
)  # fmt: skip
STOPS = (encode(StopOrder(cause=Cause.PREEMPTED, grace_s=30.0, reason="for bob", nonce="n")),)
WORLDS = (encode(Peers(members=[Peer(address="10.0.0.1", port=1), Peer(address="10.0.0.2", port=2)])),)

KEYS = tuple(
    key.encode()
    for key in (
        f"inbox/alice/{'a' * 32}.json", "claims/j-1/0/0/0", "beats/j-1/0/0/0", "workers/j-1/0/0/0.json",
        "logs/j-1/0/0/0/00000000.log",
        "journal/000000000001.json", "snapshots/000000000001.json.zst", "ended/j/j-1.json",
    )
)  # fmt: skip
LOGS = (b"line one\nline two\r\n\x1b[31mred\x1b[0m\n", b"Traceback (most recent call last):\nValueError: no\n")
PROGRESS = (b'{"step": 120, "checkpoint": true}\n{"step": 121}\n',)
REPOS = (
    b"https://github.com/org/repo\n" + b"0" * 40 + b"\nsrc/train",
    b"git@github.com:org/repo.git\n" + b"1" * 40 + b"\n",
    b"ssh://git@host:22/org/repo\n" + b"a" * 40 + b"\na",
)
CSVS = (b"submit_s,duration_s,gpus,project,user,priority\n0,60,8,nlp,alice,1\n1.5,3600,1,vision,,\n",)
DIFF = (
    b"""diff --git a/train.py b/train.py
--- a/train.py
+++ b/train.py
@@ -1 +1 @@
-print(1)
+print(2)
"""
    + b" \n" * 400
)
IGNORES = (b"# ours\n*.pyc\n!keep.pyc\n/build/\nlogs/**/old[0-9a-f]?.txt\n\\#odd\ntrailing\\ \n", b"**/a/*b*c*\n")
PROFILES = (
    b'active = "team"\n[profiles.team]\nbucket = "gs://acme"\nbastion = "team"\n[profiles.mine]\nuser_id = "ada"\n',
)
SPEC_FILES = (RICH, spec())
TOMLS = (
    b"""name = "train"
command = ["python", "train.py"]
priority = 2
instance_type = "gpu-h100-8"
[env]
A = "1"
[resources]
v4 = 8
[[alternatives]]
instance_type = "gpu-a100-8"
[[alternatives]]
resources = {cpu = 64}
replicas = 2
""",
)


_STARTS = 'resource.name.startsWith("projects/_/buckets/b/objects/team/inbox/alice/")'
CONDITIONS = (_STARTS.encode(), f"!({_STARTS} && resource.type == 'x') || resource.name.endsWith(\".json\")".encode())
_GRANTS = [
    {"role": "roles/storage.objectAdmin", "members": ["serviceAccount:b@p"]},
    {
        "role": "roles/storage.objectCreator",
        "members": ["user:a@x"],
        "condition": {"title": "t", "expression": _STARTS},
    },
]
_GUARD = {"uniformBucketLevelAccess": {"enabled": True}, "publicAccessPrevention": "enforced"}
POLICIES = (json.dumps([{"version": 3, "bindings": _GRANTS}, _GUARD]).encode(),)


def tar() -> bytes:
    """A bundle, before it is compressed."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, data in (("train.py", b"print(1)\n"), ("a/b/c.txt", b"x" * 700)):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "a/b/c.txt"
        archive.addfile(link)
    return packed.getvalue()
