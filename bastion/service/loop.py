"""The only endless loop: stand by, take over, tick. It ends when asked to stop, or when another bastion takes over."""

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
from ..model.errors import BucketError, ClockMismatch, JournalEndLost, LeadershipLost, RunnerError
from ..model.state.interning import one
from ..model.state.state import State
from ..model.stored.events import Epoch
from ..model.stored.status import Status
from ..model.version import VERSION
from ..model.wording import clipped
from ..schedule.runner_choice import kinds_said
from . import admin_files, observations
from .background_tasks import start, then
from .maintenance import ServiceContext
from .reconcile import ask_capacity
from .task_results import BackgroundTask, StopAsked
from .tick import Bastion
from .watchdog import ServiceView

log = logging.getLogger("bastion")

T = TypeVar("T")

LIMITED_MAX = 100
"""The most users over their limits that are named in `status.json`."""

OFF_S = 10.0
"""Seconds between two checks of a clock that is wrong."""

FALLEN_S = 5.0
"""The longest pause of the loop after a tick that failed, in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThisBastion:
    """The identity of this process: the bastion's name, its host, and its accounts.

    name: the bastion's name.
    host: name of the host.
    boot: id of this boot of the host.
    pid: process id of the bastion.
    alive: says whether a process with this id exists on this host.
    account: the account that the bastion runs as.
    jobs_as: the account that jobs' processes run as.
    """

    name: str
    host: str
    boot: str
    pid: int
    alive: Callable[[int], bool]
    account: str = ""
    jobs_as: str = ""


def run(
    context: ServiceContext,
    me: ThisBastion,
    *,
    stopping: Callable[[], bool],
    poll_s: float | None = None,
    takeover: bool = False,
) -> None:
    """Run the bastion until `stopping`.

    Raises `LeadershipLost` if another bastion took over, `JournalEndLost` if the journal lost its end.
    """
    bastion = take_up(context, me, stopping, poll_s, takeover=takeover)
    if bastion is None:
        return
    try:
        while not stopping():
            turn(bastion)
            context.tasks.wait(bastion.idle_s())
        bastion.close()
        log.info("stopped; what runs goes on")
    except JournalEndLost as lost:
        bastion.give_up(lost)
        raise
    finally:
        log.removeHandler(bastion.own_log)
        context.tasks.close()


def wake_for(context: ServiceContext, stop: Callable[[], object]) -> None:
    """Have a stop end the wait for the next tick. `stop` returns when this process is asked to stop."""
    start(context.tasks, BackgroundTask(StopAsked), then(stop, StopAsked()))


def take_up(
    context: ServiceContext,
    me: ThisBastion,
    stopping: Callable[[], bool],
    poll_s: float | None = None,
    *,
    takeover: bool = False,
) -> Bastion | None:
    """Begin as soon as no other bastion is at work, or at once with `takeover`.

    It begins only once the clock is right: with a wrong clock it stands by and tries again. Returns None if asked to
    stop before it began.
    """
    said = ""
    while takeover or stand_by(context, me, stopping):
        try:
            return begin(context, me, poll_s)
        except ClockMismatch as off:
            if str(off) != said:
                log.warning("standing by: %s", off)
            # The first retry is soon: only the second request writes the reason into `clock.json`.
            context.clock.sleep(OFF_S if str(off) == said else 1.0)
            said = str(off)
        if stopping():
            break
    return None


def turn(bastion: Bastion) -> None:
    """Run one tick. An error in it becomes a problem to show and does not end the loop; decisions made so far are kept.

    Raises `LeadershipLost` and `JournalEndLost`.
    """
    try:
        bastion.tick()
    except (LeadershipLost, JournalEndLost):
        raise
    except Exception as error:
        log.exception("tick %d", bastion.ticks)
        bastion.problems.say("tick", repr(error))
        bastion.show()
        bastion.context.clock.sleep(min(bastion.poll, FALLEN_S))
    else:
        bastion.problems.clear_of("tick")


def stand_by(context: ServiceContext, me: ThisBastion, stopping: Callable[[], bool]) -> bool:
    """Wait until no other bastion is at work. Return False if asked to stop before that.

    Another bastion counts as gone if its status says so, if its process on this host is dead, or if its status does not
    change for `PATIENCE_S`.
    """
    seen: str | None = None
    since = context.clock.monotonic()
    while not stopping():
        try:
            status, version = read(context.bucket)
        except BucketError as error:
            log.warning("standing by: %s", error)
            since = context.clock.monotonic()  # an unchanged version proves nothing while the bucket is unreachable
        else:
            if not version or vacant(status, me.host, me.boot, status is not None and me.alive(status.pid)):
                return True
            if seen is None and status is not None:
                log.info("standing by: epoch %d is at work on %s, pid %d", status.epoch, status.host, status.pid)
            if version != seen:
                seen, since = version, context.clock.monotonic()
            elif context.clock.monotonic() - since >= PATIENCE_S:
                return True
        context.clock.sleep(1.0)
    return False


def begin(context: ServiceContext, me: ThisBastion, poll_s: float | None = None) -> Bastion:
    """Take the next epoch with an append, then write `status.json` at once. Nothing else happens before that.

    Raises with nothing written: `NewerVersion` if a newer version of Bastion was at work here; `ClockMismatch` if the clock is
    wrong; `JournalEndLost` if the bucket knows of more than the end of the journal.
    """
    window = LeaderWindow(context.clock)
    _, version = _patiently(context, lambda: read(context.bucket))
    journal, time, began = _epoch(context, me, window)
    beacon = StatusBeat(context.bucket, context.clock, window, version, began)
    own_log = OwnLog(context.bucket, context.clock, journal.epoch)
    log.addHandler(own_log)
    bastion = Bastion(
        context=context,
        journal=journal,
        time=time,
        window=window,
        beacon=beacon,
        own_log=own_log,
        status=lambda bastion, state: status_of(bastion, me, state),
        poll_s=poll_s,
    )
    beacon.swap(status_of(bastion, me, "running"))
    _read_files(context, bastion)
    _ask_capacity(context, bastion)
    log.info("epoch %d: %s on %s, pid %d", journal.epoch, me.name, me.host, me.pid)
    return bastion


def _epoch(
    context: ServiceContext, me: ThisBastion, window: LeaderWindow
) -> tuple[Journal, LeaderTime, tuple[int, str]]:
    """Return the journal, which is ours from here on; the time; and the end that the journal had before."""
    while True:
        state, upto = _load(context)
        _share(state)
        journal, time = Journal(context.bucket, context.clock, context.ids, state, upto), _time(context, state)
        journal.begin(time.now())
        journal.epoch = state.epoch + 1
        began, first = (state.seq, state.head), context.clock.monotonic()
        if take_over(journal, Epoch(epoch=state.epoch + 1, host=me.host, pid=me.pid, version=VERSION)):
            window.confirm(first)
            return journal, time, began


def _load(context: ServiceContext) -> tuple[State, int]:
    """Return the state, checked to have lost nothing, and the number that the newest snapshot goes up to.

    The other objects of the bucket are read first: what another bastion writes meanwhile is then in the journal.
    """
    known = _patiently(context, lambda: lost_tail.gather(context.bucket))
    state = _patiently(context, lambda: load(context.bucket, context.tasks.map))
    _patiently(context, lambda: lost_tail.refuse(context.bucket, state, known, context.tasks.map))
    return state, known.snapshot


def _time(context: ServiceContext, state: State) -> LeaderTime:
    """Return the time, checked against the store's clock if there is one. Raises `ClockMismatch`."""
    store = context.store_clock
    asked = _patiently(context, lambda: store.held(state.now)) if store else None
    return LeaderTime(context.clock, state.now, asked)


def _share(state: State) -> None:
    """Keep one object for each of the many equal values in a state that was just read. This saves memory."""
    for job in state.jobs.values():
        job.share()
    known = {job.request: job.request for job in state.jobs.values()} | {job.id: job.id for job in state.jobs.values()}
    state.jobs = {known.get(name, name): job for name, job in state.jobs.items()}
    state.requests = {known.get(name, name): one(at) for name, at in state.requests.items()}
    state.pending = {known.get(name, name): None for name in state.pending}
    state.deadlines = [(at, known.get(name, name)) for at, name in state.deadlines]


def _read_files(context: ServiceContext, bastion: Bastion) -> None:
    """Read quota and settings before the first decision."""
    bastion.use_files(_patiently(context, lambda: admin_files.read(context.bucket, context.clock)))


def _ask_capacity(context: ServiceContext, bastion: Bastion) -> None:
    """Ask runners for their capacity before the first request is handled, as far as they can answer at once."""
    for name, runner in context.runners.items():
        try:
            seen = ask_capacity(runner)
        except Exception as error:  # any error at all: one bad runner must not stop the bastion from starting
            log.warning("runner %s: %s", name, error if isinstance(error, RunnerError) else repr(error))
            continue
        for event in observations.note(bastion.journal.state, seen, bastion.time.now()):
            bastion.journal.add(event)


def _patiently(context: ServiceContext, ask: Callable[[], T]) -> T:
    """Repeat this call once a second until the bucket answers."""
    while True:
        try:
            return ask()
        except BucketError as error:
            log.warning("the bucket does not answer, retrying: %s", error)
            context.clock.sleep(1.0)


def status_of(bastion: Bastion, me: ThisBastion, state: str) -> Status:
    """Build the heartbeat that goes into `status.json`."""
    journal = bastion.journal
    return Status(
        name=me.name,
        state=state,
        epoch=journal.epoch,
        nonce=bastion.context.ids.new(),
        pid=me.pid,
        host=me.host,
        boot=me.boot,
        version=VERSION,
        seq=journal.end[0],
        ticks=bastion.ticks,
        written=bastion.context.clock.wall(),
        last_tick=bastion.last_tick,
        poll_s=bastion.poll,
        counts=bastion.counts(),
        capacity=_capacity(bastion),
        problems=problems(bastion),
        paused=journal.state.paused,
        quota=bool((file := journal.state.files.get("quota")) and file.text),
        limited=dict(
            islice(bastion.requests.limited(journal.state, bastion.last_tick, bastion.inputs).items(), LIMITED_MAX)
        ),
        account=me.account,
        jobs_as=me.jobs_as,
        offers=kinds_said(journal.state),
        head=journal.end[1],
    )


def problems(bastion: Bastion) -> list[str]:
    """List what an admin should know, the most urgent first."""
    state = bastion.journal.state
    wrong = [
        f"{admin_files.KEYS[name]} cannot be used, {_in_force(file.text)}: {file.problem}"
        for name, file in state.files.items()
        if file.problem
    ]
    stalled = [f"stalled: {what}" for what in bastion.watchdog.stalls(_scene(bastion))]
    return [clipped(what) for what in wrong + stalled + bastion.problems.lines(state.blind, bastion.last_tick)]


def _scene(bastion: Bastion) -> ServiceView:
    return ServiceView(
        state=bastion.journal.state,
        now=bastion.time.now(),
        at=bastion.context.clock.monotonic(),
        runners=tuple(bastion.context.runners),
        measurements=bastion.measurements,
        due=bastion.undecided,
        tasks=dict(bastion.tasks.since),
        requests=bastion.requests.stuck,
    )


def _in_force(text: str | None) -> str:
    return "nothing starts" if text is None else "the last good one stays in force"


def _capacity(bastion: Bastion) -> dict[str, int]:
    return bastion.journal.state.reported() or {}
