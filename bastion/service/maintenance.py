"""The tasks beside the tick: each begins when it is due, and a later tick collects its result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from ..journal import snapshot
from ..journal.leadership import StatusBeat
from ..journal.own_log import OwnLog
from ..journal.reachability import ASKS
from ..journal.retirement import Retired, remove
from ..model.errors import RunnerError
from ..model.interfaces import Bucket, Builds, Clock, Ids, Runners, Tasks
from ..model.settings.config import Config
from ..model.state.state import State
from ..model.stored.records import BEAT_S, Status
from ..platform.store_clock import StoreClock
from ..schedule.desired import Desired
from . import admin_files
from .heartbeat import BeatReader
from .observations import BuildEnded, Trouble
from .received_request import Authors
from .reconcile import Reconciler

# Seconds between two runs of each chore; a snapshot also needs enough new journal objects.
SWAP_S = 5.0
FILES_S = 10.0
STRAYS_S = 10.0
FOLDERS_S = 3600.0
SNAPSHOT_S = 30.0
JOURNAL_S = 10.0
BUILDS_S = 15.0
CLOCK_S, CLOCK_AGAIN_S = 300.0, 15.0


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
    builds: Builds | None = None
    vet: Callable[[Config], Iterable[str]] = lambda _: ()
    store_clock: StoreClock | None = None
    authors: Authors | None = None


class Agenda:
    """The times at which work is due next, on the monotonic clock. Work that was never done is due at once."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._at: dict[str, float] = {}

    def take(self, what: str, every_s: float) -> bool:
        """Return True once in this many seconds, and plan the next time."""
        now = self._clock.monotonic()
        if now < self._at.get(what, now):
            return False
        self._at[what] = now + every_s
        return True

    def hurry(self, what: str) -> None:
        """Make it due now."""
        self._at.pop(what, None)

    def again(self, what: str, after_s: float) -> None:
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

    doors: the service context.
    beacon: the writer of `status.json`.
    own_log: the bastion's own log.
    look: checks the journal; raises `LostEnd` if it is not there as it was written.
    ear: reads heartbeats and facts.
    reconcilers: one for each runner.
    agenda: when each chore is due.
    """

    doors: ServiceContext
    beacon: StatusBeat
    own_log: OwnLog
    look: Callable[[], None]
    ear: BeatReader
    reconcilers: Sequence[Reconciler]
    agenda: Agenda = field(init=False)
    _leftovers: bool = True
    _snapshot_seq: int = 0

    def __post_init__(self) -> None:
        self.agenda = Agenda(self.doors.clock)
        self.agenda.take("clock", CLOCK_S)  # the start has just asked it

    def hurry(self) -> None:
        """Make the runners' turns due now, because attempts have changed.

        Attempts that ended may have left heartbeats to remove, so the next heartbeat is due even if no attempt is live.
        """
        self._leftovers = True
        for reconciler in self.reconcilers:
            self.agenda.hurry(f"{ASKS}{reconciler.runner.name}")

    def show(self, status: Callable[[], Status]) -> None:
        """Begin to write the heartbeat, if it is due."""
        if self.agenda.take("status", SWAP_S):
            now = status()
            self.doors.tasks.start("status", lambda: self.beacon.swap(now))

    def begin(self, seen: TickSummary) -> None:
        """Begin all other chores that are due."""
        tasks, take = self.doors.tasks, self.agenda.take
        self._runners(seen)
        if take("files", min(FILES_S, 10 * seen.poll_s)):
            tasks.start("files", lambda: admin_files.read(self.doors.bucket, self.doors.clock))
        if take("journal", JOURNAL_S):
            tasks.start("journal", self.look)
        if (seen.rows or self._leftovers) and take("heartbeat", BEAT_S):
            self._leftovers = bool(seen.rows)
            tasks.start("heartbeat", self.ear.listen)
        seq, builds = seen.state.seq, tuple(seen.state.builds)
        if seq - self._snapshot_seq >= snapshot.EVERY and take("snapshot", SNAPSHOT_S):
            tasks.start("snapshot", lambda: self._snapshot(seq))
        if builds and take("builds", BUILDS_S):
            tasks.start("builds", lambda: self._look_at(builds))
        if self.doors.store_clock and take("clock", CLOCK_S):
            tasks.start("clock", self.doors.store_clock.ask)
        self.own_log.flush_beside(tasks)

    def remove(self, keys: Sequence[str]) -> bool:
        """Remove objects whose effect is in the journal. Return False if an earlier removal is still running."""
        return self.doors.tasks.start("consumed", lambda: self.doors.bucket.delete(keys))

    def retire(self, retired: Retired) -> None:
        """Remove jobs that ended long ago."""
        if retired.jobs:
            self.doors.tasks.start("retire", lambda: remove(self.doors.bucket, retired, self.doors.tasks.map))

    def next_s(self) -> float:
        """Return the seconds until something is due."""
        return self.agenda.next_s()

    def _runners(self, seen: TickSummary) -> None:
        for reconciler in self.reconcilers:
            runner, name = reconciler.runner, f"{ASKS}{reconciler.runner.name}"
            due = self.agenda.take(name, runner.pace_s if seen.rows else STRAYS_S)
            if due and not self.doors.tasks.start(name, reconciler.turn):
                self.agenda.hurry(name)  # an older turn still runs: begin again when it is collected
            if self.agenda.take(f"folders {runner.name}", FOLDERS_S):
                self.doors.tasks.start(f"folders {runner.name}", runner.sweep)

    def _look_at(self, builds: Sequence[str]) -> list[BuildEnded | Trouble]:
        if self.doors.builds is None:
            return [Trouble("nobody here can be asked about the builds that jobs wait for")]
        ended = self.doors.builds.ended(builds)
        return [
            Trouble(str(end)) if isinstance(end, RunnerError) else BuildEnded(name, end) for name, end in ended.items()
        ]

    def _snapshot(self, seq: int) -> None:
        self.doors.snapshot()
        self._snapshot_seq = seq
