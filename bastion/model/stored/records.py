"""The small objects through which bastion and worker communicate in the bucket. Pure."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from ..codec import Moment, Record, movable, numbered, readable
from ..job.spec import BundleRef
from ..state.state import Cause
from ..version import CLAIM, CLOCK, FACTS, ORDER, STOP, WORLD
from .gpu_facts import Gpu

BEAT_S = 15.0
"""Seconds between two heartbeats of a worker, and between two checks of them.

It is one number for both sides, because they must agree.
"""


RECORD_BYTES_MAX = 64 * 1024
"""The most bytes of a claim, of facts and of a stop order. Larger ones do not come from an honest worker."""

ORDER_BYTES_MAX = 4 * 1024 * 1024
"""The most bytes of an order and of a list of a gang's members."""

ExitCode = Annotated[int, Meta(ge=0, le=255)]
Port = Annotated[int, Meta(ge=0, le=65_535)]
Step = Annotated[int, Meta(ge=0, le=2**53)]
Word = Annotated[str, Meta(max_length=64)]
Name = Annotated[str, Meta(max_length=512)]
"""Bounds of what a worker reports. It goes into the journal and is shown to people.

So a bad worker can write no more than this.
"""


class Order(Record, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """`attempts/…/order.json`: all that the workers of an attempt need to run it. Create-only. Times are in seconds.

    Fields that a job spec has mean the same here.

    job: id of the job.
    task: number of the task.
    count: number of tasks of the job.
    attempt: number of the attempt within the task.
    tier: the quota tier that it runs in.
    env: the user's environment variables.
    resources: amounts per replica, by kind.
    replicas: number of replicas.
    workers: number of hosts of all replicas together.
    restart_reason: one of first, failure, preempted, node_lost, user.
    last_step: the last step that an earlier attempt reported; None if none did.
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
    """`attempts/…/stop.json`: end the attempt. Create-only, so that a second stop starts no second grace period.

    schema: the number of this form.
    cause: why the attempt is stopped.
    grace_s: seconds between SIGTERM and SIGKILL, from the moment when the worker reads the order.
    reason: why, in words.
    nonce: names the attempt, as `AttemptKey` prints it.
    """

    schema: int = numbered(STOP)
    cause: Cause
    grace_s: float
    reason: str
    nonce: str


class Peer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One worker of a gang.

    address: address of its machine.
    port: port of its process.
    """

    address: str
    port: int


class Peers(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`attempts/…/world.json`: every worker of a gang. No process starts without it.

    schema: the number of this form.
    members: the workers, in the order of their numbers.
    """

    schema: int = numbered(WORLD)
    members: list[Peer]


class Claim(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`claims/…`: the first act of a worker, or the bastion's `void` in its place. Create-only.

    schema: the number of this form.
    void: True if the bastion wrote it, so that this worker never runs.
    machine: the backend's id of the machine.
    address: address of the worker's machine; "" if void.
    port: port for the worker's process; 0 if void.
    nonce: new at every start of the worker; only its memory holds it.
    """

    schema: int = numbered(CLAIM)
    void: bool = False
    machine: Name = ""
    address: Name = ""
    port: Port = 0
    nonce: Name


class AnyClaim(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a claim that every version writes and reads: a worker is recognised by its claim, in all versions.

    The fields are those of `Claim`.
    """

    void: bool = False
    machine: Name = ""
    address: Name = ""
    port: Port = 0
    nonce: Name


class Facts(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`workers/…`: the state of a worker's process. Replaced on change, at most once a second.

    schema: the number of this form.
    phase: one of claimed, setup, waiting, running, stopping, ended.
    machine: the backend's id of the machine.
    cause: why it ended; comes with phase `ended`.
    exit_code: exit code; comes with phase `ended`. After a signal n it is 128 + n.
    message: first fatal line, or what went wrong in the setup; after what broke on a GPU, if something did.
    step: the last step that the process reported; None for none.
    checkpoint_at: when it wrote its last checkpoint; None for none.
    started: when the process started; None before that.
    ended: when the process ended; None before that.
    gpus: the worker's GPUs, read once a minute.
    version: version of the worker.
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


class ClockNote(Record, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """`clock.json`: written to see which time the store gives it.

    The bastion writes it, a standby bastion, and `bastion create`.

    schema: the number of this form.
    host: the writer's machine.
    pid: the writer's process.
    wall: the writer's own time.
    at: the store's time when the writer last knew `problem`; None without a problem.
    problem: why the writer stands by; "" if it does not.
    """

    schema: int = numbered(CLOCK)
    host: str
    pid: int
    wall: Moment
    at: Moment | None = None
    problem: str = ""

    def __post_init__(self) -> None:
        movable(self.wall, self.at)


readable(Order, StopOrder, Peers, Claim, AnyClaim, Facts, ClockNote)
