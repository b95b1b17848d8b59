"""The small objects that bastion and worker leave for each other in the bucket. Pure."""

from __future__ import annotations

from datetime import datetime

import msgspec

from bastion.codec import Record, readable
from bastion.gpus import Gpu
from bastion.spec import BundleRef
from bastion.stamp import Stamp
from bastion.state import Cause

BEAT_S = 15.0
"""Between two beats of a worker, and between two looks at them: one number for both sides, since they must agree."""


PAPER_BYTES_MAX = 64 * 1024
"""No claim and no facts of an honest worker are as large."""


class Order(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`attempts/…/order.json`: all that the workers of an attempt need to run it. Create-only; times in seconds.

    `env` is the user's. `restart_reason` is one of first, failure, preempted, node_lost, user.
    `last_step` is the last step that an earlier attempt reported, if any did.
    """

    job: str
    name: str
    user: str
    project: str
    task: int
    count: int
    attempt: int
    tier: int
    command: list[str] | str
    env: dict[str, str]
    resources: dict[str, int]
    replicas: int
    workers: int
    bundle: BundleRef
    output_dir: str
    checkpoint_dir: str
    grace_s: float
    time_limit_s: float | None
    max_tries: int
    restart_reason: str
    last_step: int | None = None
    setup: str = ""


class StopOrder(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`attempts/…/stop.json`: end the attempt. Create-only, so that a second stop begins no second grace.

    From reading it, the worker gives its processes `grace_s` between SIGTERM and SIGKILL.
    """

    cause: Cause
    grace_s: float
    reason: str
    nonce: str


class Member(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One worker of a gang."""

    address: str
    port: int


class World(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`attempts/…/world.json`: every worker of a gang, in the order of its index. No process starts without it."""

    members: list[Member]


class Claim(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`claims/…`: the first act of a worker, or the bastion's `void` in its place. Create-only.

    `machine` is the backend's own id. `nonce` is new at every start of the worker and lives in its memory only.
    """

    void: bool = False
    machine: str = ""
    address: str = ""
    port: int = 0
    nonce: str


class Facts(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`workers/…`: what a worker knows of its process; replaced on change, at most once a second.

    `phase` is one of claimed, setup, waiting, running, stopping, ended. `cause` and `exit_code` come with `ended`;
    the code of a signal is 128 + n. `message` is the first fatal line, or what went wrong in the setup, behind what
    broke on a GPU. `gpus` are this worker's, looked at once a minute. `version` is that of the worker.
    """

    phase: str
    machine: str
    cause: Cause | None = None
    exit_code: int | None = None
    message: str = ""
    step: int | None = None
    checkpoint_at: datetime | None = None
    started: datetime | None = None
    ended: datetime | None = None
    gpus: list[Gpu] = []
    version: str = ""


class Status(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`status.json`: the bastion's sign of life, swapped at most every 5 s. `epoch` and `nonce` fence.

    `state` is running or stopped. `written` is wall time; `capacity` what the runners report together. While it is
    `paused` nothing starts.
    """

    name: str
    state: str
    epoch: int
    nonce: str
    pid: int
    host: str
    boot: str
    version: str
    seq: int
    ticks: int
    written: datetime
    last_tick: datetime
    poll_s: float
    counts: dict[str, int]
    capacity: dict[str, int]
    problems: list[str]
    paused: Stamp | None = None


readable(Order, StopOrder, World, Claim, Facts, Status)
