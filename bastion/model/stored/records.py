"""The small objects that bastion and worker leave for each other in the bucket. Pure."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from ..audit import Moment, Stamp, movable
from ..codec import Record, numbered, readable
from ..job.spec import BundleRef
from ..state.state import Cause
from ..version import CLAIM, CLOCK, FACTS, ORDER, STATUS, STOP, WORLD
from .gpu_facts import Gpu

BEAT_S = 15.0
"""Between two beats of a worker, and between two looks at them: one number for both sides, since they must agree."""


PAPER_BYTES_MAX = 64 * 1024
"""No claim, no facts of an honest worker and no stop order are as large."""

ORDER_BYTES_MAX = 4 * 1024 * 1024
"""No order and no world is as large."""

ExitCode = Annotated[int, Meta(ge=0, le=255)]
Port = Annotated[int, Meta(ge=0, le=65_535)]
Step = Annotated[int, Meta(ge=0, le=2**53)]
Word = Annotated[str, Meta(max_length=64)]
Name = Annotated[str, Meta(max_length=512)]
"""What a worker says goes into the journal and before people's eyes: a bad one can say no more than these."""


class Order(Record, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """`attempts/…/order.json`: all that the workers of an attempt need to run it. Create-only; times in seconds.

    `env` is the user's. `restart_reason` is one of first, failure, preempted, node_lost, user.
    `last_step` is the last step that an earlier attempt reported, if any did. `shell` and `outputs` are those of the spec.
    """

    schema: int = numbered(ORDER)
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
    shell: str = ""
    outputs: list[str] = []


class StopOrder(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`attempts/…/stop.json`: end the attempt. Create-only, so that a second stop begins no second grace.

    From reading it, the worker gives its processes `grace_s` between SIGTERM and SIGKILL.
    """

    schema: int = numbered(STOP)
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

    schema: int = numbered(WORLD)
    members: list[Member]


class Claim(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`claims/…`: the first act of a worker, or the bastion's `void` in its place. Create-only.

    `machine` is the backend's own id. `nonce` is new at every start of the worker and lives in its memory only.
    """

    schema: int = numbered(CLAIM)
    void: bool = False
    machine: Name = ""
    address: Name = ""
    port: Port = 0
    nonce: Name


class AnyClaim(msgspec.Struct, frozen=True, kw_only=True):
    """What every version writes into a claim, and every other one reads of it: a worker is known by its claim, for ever."""

    void: bool = False
    machine: Name = ""
    address: Name = ""
    port: Port = 0
    nonce: Name


class Facts(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`workers/…`: what a worker knows of its process; replaced on change, at most once a second.

    `phase` is one of claimed, setup, waiting, running, stopping, ended. `cause` and `exit_code` come with `ended`;
    the code of a signal is 128 + n. `message` is the first fatal line, or what went wrong in the setup, behind what
    broke on a GPU. `gpus` are this worker's, looked at once a minute. `version` is that of the worker.
    """

    schema: int = numbered(FACTS)
    phase: Word
    machine: Name
    cause: Cause | None = None
    exit_code: ExitCode | None = None
    message: str = ""
    step: Step | None = None
    checkpoint_at: Moment | None = None
    started: Moment | None = None
    ended: Moment | None = None
    gpus: list[Gpu] = []
    version: Word = ""

    def __post_init__(self) -> None:
        movable(self.checkpoint_at, self.started, self.ended)


class Status(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`status.json`: the bastion's sign of life, swapped at most every 5 s. `epoch` and `nonce` fence.

    `state` is running or stopped. `written` is wall time; `capacity` what the runners report together. While it is
    `paused` nothing starts. `quota`: a quota file is in force, also if it lies there no more. Of users in `limited` nothing
    is heeded now but the end of a job, and why. `account` is the bastion's on its host, `jobs_as` that of jobs' processes.
    `offers` are the kinds of each runner that has said what it has; null: it names none, so maybe any. `seq` is the number
    after the newest journal object that is written, `head` the digest of that object.
    """

    schema: int = numbered(STATUS)
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
    written: Moment
    last_tick: Moment
    poll_s: float
    counts: dict[str, int]
    capacity: dict[str, int]
    problems: list[str]
    paused: Stamp | None = None
    quota: bool = False
    limited: dict[str, str] = {}
    account: str = ""
    jobs_as: str = ""
    offers: dict[str, list[str] | None] = {}
    head: str = ""


class ClockNote(Record, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """`clock.json`: written to see when the store dates it, by the bastion, by one that stands by, and by `bastion create`.

    `wall` is the writer's own time. `problem` is why it stands by, and `at` the store's time when it last knew that.
    """

    schema: int = numbered(CLOCK)
    host: str
    pid: int
    wall: Moment
    at: Moment | None = None
    problem: str = ""

    def __post_init__(self) -> None:
        movable(self.wall, self.at)


readable(Order, StopOrder, World, Claim, AnyClaim, Facts, Status, ClockNote)
