"""Laws about jobs that others overtake: what they did is known to all, and an overtaken job is not passed for ever.

All is counted anew from the events: who held what, from when to when, and who had come before whom.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bastion.model.interfaces import AttemptKey
from bastion.model.state.state import Cause, Job, JobState, State
from bastion.model.stored.events import AnyEvent, Decided, Ended, Started, Submitted
from bastion.model.stored.journal_object import JournalObject
from bastion.quota.demand import CLASSES, OVERTAKEN
from bastion.quota.policy.overtaken import PATIENCE
from bastion.quota.project_work import moment
from bastion.quota.resources import Resources, fits, minus, plus, total
from bastion.quota.shares import Shares
from bastion.schedule.plan import current_capacity, inputs
from tests.simulation.parts.broken import Broken

HALF, MARGIN_S = 0.5, 30.0
"""The part of its wait for which a job may be overtaken while others have used up their project's rights, and what a
decision may be late."""

_SECOND = timedelta(seconds=1)


@dataclass(slots=True)
class Span:
    """What an attempt held, and from when to when.

    `place`: the place of its job in the journal. `rank`: the best rank that the job had meanwhile.
    """

    project: str
    place: int
    rank: tuple[int, int]
    demand: Resources
    start: datetime
    end: datetime | None = None

    def used(self, kind: str, since: datetime, now: datetime) -> float:
        """Unit-seconds of a kind since then."""
        return self.demand.get(kind, 0) * max(0.0, (min(self.end or now, now) - max(self.start, since)) / _SECOND)


@dataclass(slots=True)
class WaitingLaws:
    """Keeps what each attempt held, from the events alone.

    `size`: what an attempt holds or held. `fleet`: the capacity of each runner, one for each tier. `begun`: when the work of
    projects began to count; None: it does not. `reclaims`: the jobs that others had been stopped for before this object.
    `met`: those that were overtaken for too long.
    """

    fleet: Mapping[str, Resources]
    size: Callable[[AttemptKey], Resources]
    begun: datetime | None = None
    spans: dict[AttemptKey, Span] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)
    used: Counter[tuple[str, str]] = field(default_factory=Counter)
    reclaims: set[str] = field(default_factory=set)
    met: set[str] = field(default_factory=set)
    _at: datetime | None = None

    def written(self, record: JournalObject, truth: State) -> None:
        """Check a journal object. Raises `Broken`."""
        self._passes(record.now)
        for event in record.events:
            self._note(event, truth, record.now)
        for key, job, _ in truth.live_attempts():
            self.spans[key].rank = min(self.spans[key].rank, _rank(job))
        self._agrees(truth, record.now)
        decided = [event for event in record.events if isinstance(event, Decided)]
        if decided and decided[-1].rules >= OVERTAKEN and not decided[-1].blind:
            starts = [event for event in record.events if isinstance(event, Started) and not event.attempt]
            for project in {truth.jobs[event.job].project for event in starts}:
                self._passed(project, starts, truth, decided[-1].now or record.now)
        self.reclaims = set(truth.reclaims)

    def overtaken(self, truth: State, now: datetime) -> Iterator[tuple[Job, float, float]]:
        """Yield the jobs that their projects overtook for too long, each with the seconds, and how many were allowed.

        Of each project that is the first of those that wait, if it may have a reservation at all.
        """
        for project in sorted({truth.jobs[name].project for name in truth.pending}):
            job = self._first(project, truth, now)
            if job is None or not _may_reserve(job, truth, now):
                continue
            (kind,) = job.demand
            waited = (now - _since(job)) / _SECOND
            seconds = waited * self._part(job, kind, now)
            allowed = max(PATIENCE * inputs(truth).config.gang_patience, HALF * waited)
            if seconds > 1.25 * allowed + MARGIN_S:
                self.met.add(job.id)
                yield job, seconds, allowed

    def _passes(self, now: datetime) -> None:
        """Count what live attempts used since the last object."""
        if self.begun is not None and self._at is not None:
            for span in self.spans.values():
                if span.end is None:
                    for kind, amount in span.demand.items():
                        self.used[span.project, kind] += amount * ((now - self._at) // timedelta(microseconds=1))
        self._at = now

    def _note(self, event: AnyEvent, truth: State, now: datetime) -> None:
        match event:
            case Submitted():
                self.places[event.job] = len(self.places)
            case Started():
                job = truth.jobs[event.job]
                place = self.places[event.job]
                self.spans[event.key] = Span(job.project, place, _rank(job), self.size(event.key), now)
            case Ended():
                self.spans[event.key].end = now
            case Decided() if event.rules < OVERTAKEN:
                self.begun = None
            case Decided() if self.begun is None:
                self.begun, self.used = now, Counter()

    def _agrees(self, truth: State, now: datetime) -> None:
        """Check that the fold keeps what each project held and used."""
        if (truth.work is None) != (self.begun is None):
            raise Broken(f"the work of projects counts since {self.begun}, and the fold keeps {truth.work}")
        if truth.work is None:
            return
        held = Counter[tuple[str, str]]()
        for span in self.spans.values():
            for kind, amount in span.demand.items():
                held[span.project, kind] += amount if span.end is None else 0
        for (project, kind), amount in held.items():
            work = truth.work.get(project)
            kept = work.kinds.get(kind) if work else None
            if (kept.held if kept else 0) != amount:
                raise Broken(f"{project} is said to hold {kept.held if kept else 0} {kind}, its attempts hold {amount}")
            if kept is None:
                del self.used[project, kind]  # it held nothing for long, and is forgotten
            elif kept.used(moment(now)) != self.used[project, kind]:
                told = f"{kept.used(moment(now))}, its attempts used {self.used[project, kind]}"
                raise Broken(f"the work of {project} is said to be {told} microseconds of {kind}")

    def _passed(self, project: str, starts: list[Started], truth: State, now: datetime) -> None:
        """Check that nobody starts behind a job that was overtaken for too long, if both need the same room."""
        begun = {event.job for event in starts}
        for job, seconds, allowed in self.overtaken(truth, now):
            if job.project != project or job.id in begun:
                continue
            for event in starts:
                other = truth.jobs[event.job]
                is_behind = other.project == project and _place(other) > _place(job) and other.id not in self.reclaims
                if is_behind and self._is_short(job, event, starts, truth):
                    behind = f"{job.id}, which was overtaken for {seconds:.0f} s of {allowed:.0f}"
                    raise Broken(f"{event.key} starts behind {behind} and needs the same room")

    def _is_short(self, job: Job, event: Started, starts: list[Started], truth: State) -> bool:
        """Return True if before the decision too little was free for both, on each runner that would do for the job.

        Then the start took room that the job needs, if its own runner would do, too.
        """
        runners = [*self.fleet][: _worst(job, [*self.fleet])]
        both = {kind: amount + job.demand[kind] for kind, amount in self.size(event.key).items() if kind in job.demand}
        begun = {each.key for each in starts}
        live = [(key, attempt.runner) for key, _, attempt in truth.live_attempts() if key not in begun]
        free = [minus(self.fleet[name], total(self.size(key) for key, at in live if at == name)) for name in runners]
        return event.runner in runners and bool(both) and not any(fits(both, left) for left in free)

    def _first(self, project: str, truth: State, now: datetime) -> Job | None:
        """Return the first job of a project that waits and may start; None if somebody else may go before it.

        Where several users wait or hold something, who used less goes first.
        """
        names = {*truth.pending, *truth.live}
        jobs = [truth.jobs[name] for name in names if truth.jobs[name].project == project]
        waiting = [job for job in jobs if job.id in truth.pending and is_ready(job, truth, now)]
        if not waiting or len({job.user for job in jobs}) > 1:
            return None
        first = min(waiting, key=_place)
        return first if any(job.demand != first.demand for job in jobs) else None

    def _part(self, job: Job, kind: str, now: datetime) -> float:
        """Return the part of what its project used since a job waits that jobs behind it used, which started since then."""
        since = max(_since(job), self.begun or now)
        own = [span for span in self.spans.values() if span.project == job.project]
        behind = [
            span
            for span in own
            if span.place > self.places[job.id] and span.rank >= _rank(job) and span.start > _since(job)
        ]
        whole = sum(span.used(kind, since, now) for span in own)
        return sum(span.used(kind, since, now) for span in behind) / whole if whole else 0.0


def keeps_from(job: Job, truth: State, now: datetime, free: Sequence[Resources] = ()) -> bool:
    """Return True if a project may keep free room from a job of its own, for another one that has waited for long.

    The other job stands before it, or is of another user. Nowhere that the other job may start is enough free for both.
    `free`: what is free at each runner, one for each tier.
    """
    least = PATIENCE * inputs(truth).config.gang_patience / 20
    for other in (truth.jobs[name] for name in truth.pending if name != job.id):
        both = plus(job.demand, other.demand)
        if (
            other.project == job.project
            and (_place(other) < _place(job) or other.user != job.user)
            and (now - _since(other)) / _SECOND > least
            and not job.demand.keys().isdisjoint(other.demand)
            and not any(fits(both, side) for side in free[: _worst(other, free)])
        ):
            return True
    return False


def is_ready(job: Job, truth: State, now: datetime) -> bool:
    """Return True if a task of the job could start now, were there room."""
    fresh = job.fresh < job.count and job.rest is JobState.PENDING
    again = any(not (at := job.tasks[number].ready_at) or at <= now for number in job.waiting)
    room = job.max_parallel is None or len(truth.live.get(job.id, ())) < job.max_parallel
    open_ = not (job.held or job.after or job.id in truth.doomed or (job.begin and job.begin > now))
    return (fresh or again) and room and open_


def _rank(job: Job) -> tuple[int, int]:
    return CLASSES.index(job.job_class), job.priority


def _place(job: Job) -> tuple[int, int, int]:
    return (*_rank(job), job.order)


def _worst(job: Job, sides: Sequence[object]) -> int:
    """Return how many runners, one for each tier, would do for a job."""
    return len(sides) if job.max_tier is None else job.max_tier + 1


def _since(job: Job) -> datetime:
    return max(job.since, job.begin) if job.begin else job.since


def _may_reserve(job: Job, truth: State, now: datetime) -> bool:
    """Return True if nothing but room keeps the job from a start: its project's share is large enough, and it rests not."""
    settings = inputs(truth)
    if settings.quota is None or settings.quota.is_open or settings.config.policy != "default":
        return False
    there = current_capacity(truth, settings)
    stopped = any(each.cause is Cause.PREEMPTED for task in job.tasks.values() for each in task.attempts)
    return (
        len(job.demand) == 1
        and not job.choices
        and not stopped
        and settings.quota.admits(job.user, job.project)
        and Shares(settings.quota, there.total()).within(job.project, {}, job.demand.items())
        and any(fits(job.demand, side) for side in there.of_partitions(job.max_tier))
    )
