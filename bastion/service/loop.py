"""The only endless loop: stand by, take over, tick, and stop when asked to or deposed."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from ..journal import lost_tail
from ..journal.journal import Journal, take_over
from ..journal.leadership import PATIENCE_S, LeaderTime, LeaderWindow, StatusBeat, read, vacant
from ..journal.own_log import OwnLog
from ..journal.recover import load
from ..model.errors import BucketError, Deposed, LostEnd, OffTime, RunnerError
from ..model.state.interning import one
from ..model.state.state import State
from ..model.stored.events import Epoch
from ..model.stored.records import Status
from ..model.version import VERSION
from ..model.wording import clipped
from ..schedule.runner_choice import kinds_said
from . import admin_files, observations
from .maintenance import ServiceContext
from .reconcile import ask_capacity
from .tick import Bastion
from .watchdog import ServiceView

log = logging.getLogger("bastion")

T = TypeVar("T")

LIMITED_MAX = 100
"""So many users are named in `status.json` who have sent too much."""

OFF_S = 10.0
"""Between two looks at a clock that is wrong."""

FALLEN_S = 5.0
"""How long the loop rests at most after a tick that fell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThisBastion:
    """Who runs this loop: the bastion's name, and the process as the system knows it.

    `boot` names this boot of the host; `alive` says whether a process of this host is there. `account` is this process's,
    `jobs_as` that of jobs' processes.
    """

    name: str
    host: str
    boot: str
    pid: int
    alive: Callable[[int], bool]
    account: str = ""
    jobs_as: str = ""


def run(
    doors: ServiceContext,
    me: ThisBastion,
    *,
    stopping: Callable[[], bool],
    poll_s: float | None = None,
    takeover: bool = False,
) -> None:
    """Be the bastion until `stopping`. Raises `Deposed` when another one took over, `LostEnd` if the journal lost its end."""
    bastion = take_up(doors, me, stopping, poll_s, takeover=takeover)
    if bastion is None:
        return
    try:
        while not stopping():
            turn(bastion)
            doors.tasks.wait(bastion.idle_s())
        bastion.close()
        log.info("stopped; what runs goes on")
    except LostEnd as lost:
        bastion.give_up(lost)
        raise
    finally:
        log.removeHandler(bastion.own_log)
        doors.tasks.close()


def take_up(
    doors: ServiceContext,
    me: ThisBastion,
    stopping: Callable[[], bool],
    poll_s: float | None = None,
    *,
    takeover: bool = False,
) -> Bastion | None:
    """Begin when nobody else is at work, or at once; and only by the right time. None if asked to stop before that."""
    said = ""
    while takeover or stand_by(doors, me, stopping):
        try:
            return begin(doors, me, poll_s)
        except OffTime as off:
            if str(off) != said:
                log.warning("standing by: %s", off)
            doors.clock.sleep(OFF_S if str(off) == said else 1.0)  # soon once more: then `clock.json` says why
            said = str(off)
        if stopping():
            break
    return None


def turn(bastion: Bastion) -> None:
    """One tick. What goes wrong in it is a problem to show, not the end: all that was decided is kept."""
    try:
        bastion.tick()
    except (Deposed, LostEnd):
        raise
    except Exception as error:
        log.exception("tick %d", bastion.ticks)
        bastion.troubles.say("tick", repr(error))
        bastion.show()
        bastion.doors.clock.sleep(min(bastion.poll, FALLEN_S))
    else:
        bastion.troubles.clear_of("tick")


def stand_by(doors: ServiceContext, me: ThisBastion, stopping: Callable[[], bool]) -> bool:
    """Wait until nobody is at work. False if asked to stop before that."""
    seen: str | None = None
    since = doors.clock.monotonic()
    while not stopping():
        try:
            status, version = read(doors.bucket)
        except BucketError as error:
            log.warning("standing by: %s", error)
            since = doors.clock.monotonic()
        else:
            if not version or vacant(status, me.host, me.boot, status is not None and me.alive(status.pid)):
                return True
            if seen is None and status is not None:
                log.info("standing by: epoch %d is at work on %s, pid %d", status.epoch, status.host, status.pid)
            if version != seen:
                seen, since = version, doors.clock.monotonic()
            elif doors.clock.monotonic() - since >= PATIENCE_S:
                return True
        doors.clock.sleep(1.0)
    return False


def begin(doors: ServiceContext, me: ThisBastion, poll_s: float | None = None) -> Bastion:
    """Take the next epoch by an append, then at once say so in `status.json`; only then can anything else happen.

    Raises with nothing written: `Newer`, if a newer version of Bastion was at work here; `OffTime`; `LostEnd`, if the bucket
    knows more than the end of the journal.
    """
    fence = LeaderWindow(doors.clock)
    _, version = _patiently(doors, lambda: read(doors.bucket))
    journal, time, began = _epoch(doors, me, fence)
    beacon = StatusBeat(doors.bucket, doors.clock, fence, version, began)
    own_log = OwnLog(doors.bucket, doors.clock, journal.epoch)
    log.addHandler(own_log)
    bastion = Bastion(
        doors=doors,
        journal=journal,
        time=time,
        fence=fence,
        beacon=beacon,
        own_log=own_log,
        status=lambda bastion, state: status_of(bastion, me, state),
        poll_s=poll_s,
    )
    beacon.swap(status_of(bastion, me, "running"))
    _read_files(doors, bastion)
    _ask_capacity(doors, bastion)
    log.info("epoch %d: %s on %s, pid %d", journal.epoch, me.name, me.host, me.pid)
    return bastion


def _epoch(doors: ServiceContext, me: ThisBastion, fence: LeaderWindow) -> tuple[Journal, LeaderTime, tuple[int, str]]:
    """The journal, ours from here on; the time; and the end that it had."""
    while True:
        state, upto = _load(doors)
        _share(state)
        journal, time = Journal(doors.bucket, doors.clock, doors.ids, state, upto), _time(doors, state)
        journal.begin(time.now())
        journal.epoch = state.epoch + 1
        began, first = (state.seq, state.head), doors.clock.monotonic()
        if take_over(journal, Epoch(epoch=state.epoch + 1, host=me.host, pid=me.pid, version=VERSION)):
            fence.confirm(first)
            return journal, time, began


def _load(doors: ServiceContext) -> tuple[State, int]:
    """The state, of which nothing is lost, and how far a snapshot goes. First what the bucket knows: what others write
    meanwhile is in the journal by then.
    """
    known = _patiently(doors, lambda: lost_tail.gather(doors.bucket))
    state = _patiently(doors, lambda: load(doors.bucket, doors.tasks.map))
    _patiently(doors, lambda: lost_tail.refuse(doors.bucket, state, known, doors.tasks.map))
    return state, known.snapshot


def _time(doors: ServiceContext, state: State) -> LeaderTime:
    """The time, held against the store's. Raises `OffTime`."""
    store = doors.store_clock
    asked = _patiently(doors, lambda: store.held(state.now)) if store else None
    return LeaderTime(doors.clock, state.now, asked)


def _share(state: State) -> None:
    """A state that was read holds equal values many times over: keep one of each."""
    for job in state.jobs.values():
        job.share()
    known = {job.request: job.request for job in state.jobs.values()} | {job.id: job.id for job in state.jobs.values()}
    state.jobs = {known.get(name, name): job for name, job in state.jobs.items()}
    state.requests = {known.get(name, name): one(at) for name, at in state.requests.items()}
    state.pending = {known.get(name, name): None for name in state.pending}
    state.deadlines = [(at, known.get(name, name)) for at, name in state.deadlines]


def _read_files(doors: ServiceContext, bastion: Bastion) -> None:
    """Know quota and settings before the first decision."""
    bastion.heed(_patiently(doors, lambda: admin_files.read(doors.bucket, doors.clock)))


def _ask_capacity(doors: ServiceContext, bastion: Bastion) -> None:
    """Know what there is before the first request is judged, as far as runners can tell at once."""
    for name, runner in doors.runners.items():
        try:
            seen = ask_capacity(runner)
        except Exception as error:  # whatever it is: one bad runner keeps no bastion from its start
            log.warning("runner %s: %s", name, error if isinstance(error, RunnerError) else repr(error))
            continue
        for event in observations.note(bastion.journal.state, seen, bastion.time.now()):
            bastion.journal.add(event)


def _patiently(doors: ServiceContext, ask: Callable[[], T]) -> T:
    while True:
        try:
            return ask()
        except BucketError as error:
            log.warning("the bucket does not answer, trying on: %s", error)
            doors.clock.sleep(1.0)


def status_of(bastion: Bastion, me: ThisBastion, state: str) -> Status:
    """The sign of life."""
    journal = bastion.journal
    return Status(
        name=me.name,
        state=state,
        epoch=journal.epoch,
        nonce=bastion.doors.ids.new(),
        pid=me.pid,
        host=me.host,
        boot=me.boot,
        version=VERSION,
        seq=journal.end[0],
        ticks=bastion.ticks,
        written=bastion.doors.clock.wall(),
        last_tick=bastion.last_tick,
        poll_s=bastion.poll,
        counts=bastion.counts(),
        capacity=_capacity(bastion),
        problems=problems(bastion),
        paused=journal.state.paused,
        quota=bool((file := journal.state.files.get("quota")) and file.text),
        limited=dict(
            islice(bastion.mail.limited(journal.state, bastion.last_tick, bastion.inputs).items(), LIMITED_MAX)
        ),
        account=me.account,
        jobs_as=me.jobs_as,
        offers=kinds_said(journal.state),
        head=journal.end[1],
    )


def problems(bastion: Bastion) -> list[str]:
    """What an admin should know, loudest first."""
    state = bastion.journal.state
    wrong = [
        f"{admin_files.KEYS[name]} cannot be used, {_in_force(file.text)}: {file.problem}"
        for name, file in state.files.items()
        if file.problem
    ]
    stalled = [f"stalled: {what}" for what in bastion.watchman.stalls(_scene(bastion))]
    return [clipped(what) for what in wrong + stalled + bastion.troubles.lines(state.blind, bastion.last_tick)]


def _scene(bastion: Bastion) -> ServiceView:
    return ServiceView(
        state=bastion.journal.state,
        now=bastion.time.now(),
        at=bastion.doors.clock.monotonic(),
        runners=tuple(bastion.doors.runners),
        vitals=bastion.vitals,
        due=bastion.undecided,
        tasks=dict(bastion.timed.since),
        requests=bastion.mail.stuck,
    )


def _in_force(text: str | None) -> str:
    return "nothing starts" if text is None else "the last good one stays in force"


def _capacity(bastion: Bastion) -> dict[str, int]:
    return bastion.journal.state.reported() or {}
