"""The tasks beside the tick: each begins when it is due, and a later tick collects its result."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ..journal import snapshot
from ..journal.leadership import StatusBeat
from ..journal.own_log import OwnLog
from ..journal.retirement import RetiredJobs, remove
from ..model.clocks import ClockReading
from ..model.errors import RunnerError
from ..model.interfaces import Bucket, BuildService, Clock, Ids, Runners, Tasks
from ..model.settings.config import Config
from ..model.state.state import State
from ..model.stored.records import BEAT_S
from ..model.stored.status import Status
from ..platform.store_clock import StoreClock
from ..schedule.desired import Desired
from . import admin_files
from .background_tasks import BackgroundTasks, then
from .heartbeat import BeatReader
from .observations import BuildEnded, UnreadableObject
from .received_request import RequestAuthors
from .reconcile import Reconciler
from .task_results import (
    AdminFilesRead,
    BackgroundTask,
    BeatsRead,
    BuildsSeen,
    FoldersSwept,
    JobsRetired,
    JournalSound,
    LogSent,
    ObjectsRemoved,
    R,
    RunnerSeen,
    SnapshotMade,
    StatusWritten,
)

# Seconds between two runs of each chore; a snapshot also needs enough new journal objects.
SWAP_S = 5.0
FILES_S = 10.0
STRAYS_S = 10.0
FOLDERS_S = 3600.0
SNAPSHOT_S = 30.0
JOURNAL_S = 10.0
BUILDS_S = 15.0
CLOCK_S, CLOCK_AGAIN_S = 300.0, 15.0
RETIRE_S = 3600.0

STATUS, LOG, CLOCK = BackgroundTask(StatusWritten), BackgroundTask(LogSent), BackgroundTask(ClockReading)
REMOVAL, RETIREMENT = BackgroundTask(ObjectsRemoved), BackgroundTask(JobsRetired)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceContext:
    """All that the bastion needs from outside.

    bucket: its bucket.
    runners: its runners, by name.
    clock: the clock of this machine.
    ids: source of new ids.
    tasks: starts work beside the tick.
    snapshot: makes a snapshot of the journal, beside this process.
    builds: where the images that jobs wait for are built; None: nowhere.
    vet: lists what is wrong with settings, for the runners that are installed here.
    store_clock: the clock that our time is checked against; None: no check.
    authors: checks the accounts that write requests; None: no check.
    """

    bucket: Bucket
    runners: Runners
    clock: Clock
    ids: Ids
    tasks: Tasks
    snapshot: Callable[[], object]
    builds: BuildService | None = None
    vet: Callable[[Config], Iterable[str]] = lambda _: ()
    store_clock: StoreClock | None = None
    authors: RequestAuthors | None = None


class DueTimes:
    """The times at which work is due next, on the monotonic clock. Work that was never done is due at once."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._at: dict[Hashable, float] = {}

    def take(self, what: Hashable, every_s: float) -> bool:
        """Return True once in this many seconds, and plan the next time."""
        now = self._clock.monotonic()
        if now < self._at.get(what, now):
            return False
        self._at[what] = now + every_s
        return True

    def hurry(self, what: Hashable) -> None:
        """Make it due now."""
        self._at.pop(what, None)

    def again(self, what: Hashable, after_s: float) -> None:
        """Make it due this many seconds from now."""
        self._at[what] = self._clock.monotonic() + after_s

    def next_s(self) -> float:
        """Return the seconds until the next work that is still to come."""
        now = self._clock.monotonic()
        return min((at - now for at in self._at.values() if at > now), default=float("inf"))


@dataclass(frozen=True, slots=True, kw_only=True)
class TickSummary:
    """The facts about one tick that its chores need.

    rows: the desired attempts.
    state: the state after the tick.
    poll_s: seconds between two reads of the inbox.
    """

    rows: Sequence[Desired]
    state: State
    poll_s: float


@dataclass(slots=True, kw_only=True)
class Maintenance:
    """The tasks of one bastion. A chore that fails begins again when it is due again.

    context: the service context.
    tasks: its tasks, by their types.
    beacon: the writer of `status.json`.
    own_log: the bastion's own log.
    look: checks the journal; raises `JournalEndLost` if it is not there as it was written.
    ear: reads heartbeats and facts.
    reconcilers: one for each runner.
    due: when each chore is due.
    """

    context: ServiceContext
    tasks: BackgroundTasks
    beacon: StatusBeat
    own_log: OwnLog
    look: Callable[[], None]
    ear: BeatReader
    reconcilers: Sequence[Reconciler]
    due: DueTimes = field(init=False)
    _leftovers: bool = True
    _snapshot_seq: int = 0

    def __post_init__(self) -> None:
        self.due = DueTimes(self.context.clock)
        self.due.take(CLOCK, CLOCK_S)  # the start has just asked it

    def hurry(self) -> None:
        """Make the runners' turns due now, because attempts have changed.

        Attempts that ended may have left heartbeats to remove, so the next heartbeat is due even if no attempt is live.
        """
        self._leftovers = True
        for reconciler in self.reconcilers:
            self.due.hurry(_turn_of(reconciler))

    def show(self, status: Callable[[], Status]) -> None:
        """Begin to write the heartbeat, if it is due."""
        if self.due.take(STATUS, SWAP_S):
            self.tasks.start(STATUS, self._writes(status()))

    def end_log(self) -> None:
        """Write the last lines of the own log, and wait until that has ended, well or not. Raises `LeadershipLost`."""
        self.tasks.finish(LOG, then(self.own_log.send, LogSent()))

    def end_status(self, status: Status) -> None:
        """Write the last heartbeat, and wait until that has ended. Raises `LeadershipLost`."""
        self.tasks.finish(STATUS, self._writes(status))

    def begin(self, seen: TickSummary) -> None:
        """Begin all other chores that are due."""
        bucket, clock = self.context.bucket, self.context.clock
        self._runners(seen)
        files_s = min(FILES_S, 10 * seen.poll_s)
        self._begin_if_due(BackgroundTask(AdminFilesRead), files_s, lambda: admin_files.read(bucket, clock))
        self._begin_if_due(BackgroundTask(JournalSound), JOURNAL_S, then(self.look, JournalSound()))
        if (seen.rows or self._leftovers) and self._begin_if_due(BackgroundTask(BeatsRead), BEAT_S, self.ear.listen):
            self._leftovers = bool(seen.rows)
        seq, builds = seen.state.seq, tuple(seen.state.builds)
        if seq - self._snapshot_seq >= snapshot.EVERY:
            self._begin_if_due(BackgroundTask(SnapshotMade), SNAPSHOT_S, then(self.context.snapshot, SnapshotMade(seq)))
        if builds:
            self._begin_if_due(BackgroundTask(BuildsSeen), BUILDS_S, lambda: self._look_at(builds))
        if self.context.store_clock:
            self._begin_if_due(CLOCK, CLOCK_S, self.context.store_clock.ask)
        self.own_log.flush_beside(lambda: self.tasks.start(LOG, then(self.own_log.send, LogSent())))

    def remove(self, keys: Sequence[str]) -> bool:
        """Remove objects whose effect is in the journal. Return False if an earlier removal is still running."""
        return self.tasks.start(REMOVAL, then(lambda: self.context.bucket.delete(keys), ObjectsRemoved()))

    def retire(self, retirable: Callable[[], RetiredJobs]) -> None:
        """Begin to remove jobs that ended long ago, if it is due."""
        if self.due.take(RETIREMENT, RETIRE_S) and (retired := retirable()).jobs:
            bucket, at_once = self.context.bucket, self.context.tasks.map
            self.tasks.start(RETIREMENT, lambda: JobsRetired(remove(bucket, retired, at_once)))

    def note_snapshot(self, made: SnapshotMade) -> None:
        """Note that a snapshot is made. The next is due after enough new journal objects."""
        self._snapshot_seq = made.seq

    def note_failure(self, task: BackgroundTask[Any]) -> None:
        """Note that a task has failed. A reading of the clock is repeated sooner than it is due; others are not."""
        if task == CLOCK:
            self.due.again(CLOCK, CLOCK_AGAIN_S)

    def next_s(self) -> float:
        """Return the seconds until something is due."""
        return self.due.next_s()

    def _begin_if_due(self, task: BackgroundTask[R], every_s: float, work: Callable[[], R]) -> bool:
        """Begin this task if it is due. Return True if it was due."""
        due = self.due.take(task, every_s)
        if due:
            self.tasks.start(task, work)
        return due

    def _writes(self, status: Status) -> Callable[[], StatusWritten]:
        return then(lambda: self.beacon.swap(status), StatusWritten())

    def _runners(self, seen: TickSummary) -> None:
        for reconciler in self.reconcilers:
            runner, turn = reconciler.runner, _turn_of(reconciler)
            due = self.due.take(turn, runner.pace_s if seen.rows else STRAYS_S)
            if due and not self.tasks.start(turn, partial(_seen, reconciler)):
                self.due.hurry(turn)  # an older turn still runs: begin again when it is collected
            sweep = BackgroundTask(FoldersSwept, runner.name)
            self._begin_if_due(sweep, FOLDERS_S, then(runner.sweep, FoldersSwept(runner.name)))

    def _look_at(self, builds: Sequence[str]) -> BuildsSeen:
        if self.context.builds is None:
            return BuildsSeen(
                [UnreadableObject("jobs wait for image builds, and this bastion has no access to Cloud Build")]
            )
        ended = self.context.builds.ended(builds)
        return BuildsSeen(
            [
                UnreadableObject(str(end)) if isinstance(end, RunnerError) else BuildEnded(name, end)
                for name, end in ended.items()
            ]
        )


def _turn_of(reconciler: Reconciler) -> BackgroundTask[RunnerSeen]:
    return BackgroundTask(RunnerSeen, reconciler.runner.name)


def _seen(reconciler: Reconciler) -> RunnerSeen:
    return RunnerSeen(reconciler.runner.name, reconciler.turn())
