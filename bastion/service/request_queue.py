"""The inbox from tick to tick: requests that were read and wait, keys to remove, and users who exceed their limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import msgspec

from ..model.errors import BucketError
from ..model.interfaces import Stat
from ..model.layout import job_id
from ..model.settings.user_limits import RequestCounters
from ..model.state.state import ENDED, State
from ..model.stored.events import AnyEvent, JobRejected, OfRequest, RequestRejected, RequestsDropped
from ..model.stored.requests import Cancel, Submit
from ..schedule.permissions import refusal
from ..schedule.plan import DecisionInputs
from . import request_reader
from .maintenance import ServiceContext
from .problems import Problems
from .received_request import ReceivedRequest
from .request_handler import RequestHandler, others

REFUSALS_MAX = 100
"""The most rejections of one user in a tick that get an event each; the rest share one event."""

RELIST_S = 5.0
"""Seconds between two new listings while a long one is worked through: a new request waits at most so long."""

RELIST_SHARE = 0.1
"""The largest share of the time that listing may take: where it is slow, it is done less often."""

WAITING_BYTES_MAX = 8 * 1024**2
"""The most bytes of one user's requests that are kept in memory while they wait for others."""


_Found = ReceivedRequest | Exception | None


@dataclass(frozen=True, slots=True)
class QueuedRequests:
    """The result of one look into the inbox.

    sorted: the listing, sorted by what to do with each request.
    read: the requests that were read from it, in order.
    """

    sorted: request_reader.SortedRequests
    read: request_reader.RequestsRead

    @property
    def has_work(self) -> bool:
        """Return True if there are requests to handle, now or later."""
        return bool(self.read.now or self.read.later)


class RequestQueue:
    """The way of requests from the inbox to the journal, tick by tick.

    `done` holds keys to remove: their effect is in the journal, or they have none. `backlog`: there is more than was
    read. `stuck` holds keys that cannot be read or that wait for others, each with the monotonic time since when.
    """

    def __init__(self, context: ServiceContext, problems: Problems, state: State) -> None:
        self.backlog = False
        self.done: dict[str, None] = {}
        self.counters = RequestCounters(state)
        self.stuck: dict[str, float] = {}
        self._bucket, self._at_once, self._clock, self._problems = (
            context.bucket,
            context.tasks.map,
            context.clock,
            problems,
        )
        self._authors = context.authors
        self._relist_at, self._recall = float("-inf"), False
        self._rest: tuple[Stat, ...] = ()
        self._cut: frozenset[str] = frozenset()
        self._waiting: dict[str, ReceivedRequest] = {}
        self._known: frozenset[str] = frozenset()
        self._dropped: set[str] = set()

    def fetch(self, state: State) -> QueuedRequests | None:
        """List the inbox, unless much is left of the last listing, and read requests. None if the store does not answer."""
        self.backlog = False  # so that a store that does not answer is asked again only after the usual pause
        try:
            inbox = self._sorted(state)
        except BucketError as error:
            self._problems.say("inbox", error)
            return None
        self._recall = state.forgotten is not None
        found = self._read(inbox.read)
        inbox, found, late = self._completed(inbox, found)
        read = request_reader.in_order(inbox, found)
        read = replace(read, later=(*read.later, *late))
        failed = read.failed
        self._problems.tell("inbox", [f"{len(failed)} requests cannot be read: {error}" for error in failed[:1]])
        unread = [stat.key for stat, one in zip(inbox.read, found, strict=True) if isinstance(one, Exception)]
        at = self._clock.monotonic()
        self.stuck = {key: self.stuck.get(key, at) for key in (*unread, *self._waiting)}
        return QueuedRequests(inbox, read)

    def _read(self, stats: Sequence[Stat]) -> list[_Found]:
        def read(stat: Stat) -> ReceivedRequest | None:
            return request_reader.read(self._bucket, stat, recall=self._recall, authors=self._authors)

        return self._at_once(read, stats)

    def _completed(
        self, inbox: request_reader.SortedRequests, found: list[_Found]
    ) -> tuple[request_reader.SortedRequests, list[_Found], list[ReceivedRequest]]:
        """Add older requests that were missing from the listing. Return the listing, the results, and late requests.

        Where older ones cannot be found now, the requests that depend on order are late: they wait for the next tick.
        """
        new = {one.key: one for one in found if isinstance(one, ReceivedRequest) and request_reader.keeps_order(one)}
        if not new:
            return inbox, found, []
        try:
            if inbox.fresh:
                more = request_reader.missed(self._bucket, inbox, new.values())
                return replace(inbox, read=(*inbox.read, *more)), [*found, *self._read(more)], []
        except BucketError as error:
            self._problems.say("inbox", error)
        kept = [(stat, one) for stat, one in zip(inbox.read, found, strict=True) if stat.key not in new]
        return replace(inbox, read=tuple(stat for stat, _ in kept)), [one for _, one in kept], list(new.values())

    def _sorted(self, state: State) -> request_reader.SortedRequests:
        rest, self._rest = self._rest, ()  # a request that is read now, but not handled (no files), is listed again
        began = self._clock.monotonic()
        if rest and began < self._relist_at:
            inbox = request_reader.sort(state, rest, {}, self._dropped)
            return replace(inbox, kept=tuple(self._waiting.values()), cut=self._cut, fresh=False)
        self._known = frozenset(self._waiting)
        inbox = request_reader.sort(state, request_reader.listed(self._bucket), self._waiting, self._dropped)
        took = self._clock.monotonic() - began
        self._relist_at, self._cut = began + max(RELIST_S, took / RELIST_SHARE), inbox.cut
        self._dropped &= set(inbox.known)
        return inbox

    def judge(
        self,
        inbox: QueuedRequests,
        state: State,
        inputs: DecisionInputs,
        now: datetime,
        add: Callable[[AnyEvent], bool],
    ) -> None:
        """Turn requests into events and pass them to `add`.

        One that must wait is kept in memory and not read again, unless that would take too much memory.
        """
        self.done |= dict.fromkeys(inbox.sorted.known)
        all_read = not inbox.sorted.more and not inbox.read.failed
        turn = _Turn(self.counters, state, inputs, now, add)
        self._waiting, held, unborn = {}, Counter[str](), set[str]()
        for received in inbox.read.now:
            # Only a listing begun after the request was read can prove that its job is missing: an earlier one may show
            # the request without the submission before it. A job whose submission still waits is not missing either.
            settled = all_read and received.key in self._known and unborn.isdisjoint(others(received))
            event = turn.event(received, all_read=settled)
            if event is None and received.name not in state.requests and held[received.user] > WAITING_BYTES_MAX:
                event = turn.event(received, all_read=True)
            if event is None:
                unborn |= _submitted(received)
                self._wait(received, held)
            elif turn.takes(received, event):
                self.done[received.key] = None
        for received in inbox.read.later:
            if held[received.user] <= WAITING_BYTES_MAX:
                self._wait(received, held)
        turn.close()
        self.backlog = inbox.sorted.more and len(inbox.read.failed) < len(inbox.sorted.read)
        self._rest = (*inbox.sorted.later, *inbox.read.missed) if self.backlog else ()
        self._dropped |= turn.dropped
        self.done |= dict.fromkeys(sorted(turn.dropped))  # a set has another order in each process

    def limited(self, state: State, now: datetime, inputs: DecisionInputs) -> dict[str, str]:
        """Return the users from whom no more requests are accepted today, each with the reason."""
        limits = inputs.config.limits
        told = ((user, self.counters.too_many(user, state, now, limits)) for user in self.counters.senders())
        return {user: why for user, why in told if why}

    def _wait(self, received: ReceivedRequest, held: Counter[str]) -> None:
        self._waiting[received.key] = received
        held[received.user] += received.size


def _submitted(received: ReceivedRequest) -> set[str]:
    """Return the job that this request submits, if any."""
    request = received.request
    return {job_id(request.spec.name, received.id)} if isinstance(request, Submit) else set()


class _Turn:
    """The handling of requests in one tick, with the limits of each user."""

    def __init__(
        self,
        counters: RequestCounters,
        state: State,
        inputs: DecisionInputs,
        now: datetime,
        add: Callable[[AnyEvent], bool],
    ) -> None:
        self.dropped: set[str] = set()
        self._counters, self._state, self._inputs, self._now, self._add = counters, state, inputs, now, add
        self._judge = RequestHandler(state, inputs)
        self._refused = Counter[str]()
        self._told: dict[str, tuple[int, str]] = {}

    def event(self, received: ReceivedRequest, *, all_read: bool) -> AnyEvent | None:
        """Return the event that the request becomes; None if it has to wait."""
        return self._judge.event(received, all_read=all_read)

    def takes(self, received: ReceivedRequest, event: AnyEvent) -> bool:
        """Add the event, or drop the request and count it. Return True if the event was added."""
        user = received.user
        closed = self._counters.too_many(user, self._state, self._now, self._inputs.config.limits)
        if closed and not self._ends_something(received):
            return self._drop(received, closed)
        if isinstance(event, JobRejected | RequestRejected):
            self._refused[user] += 1
            if self._refused[user] > REFUSALS_MAX:
                return self._drop(received, f"too many at once; the last one: {event.reason}")
        if isinstance(event, OfRequest):
            event = msgspec.structs.replace(event, size=received.size)
        if not self._add(event):
            return False
        self._counters.sent(user, self._now)
        return True

    def close(self) -> None:
        """Add one event for each user who had requests dropped."""
        for user, (count, reason) in self._told.items():
            self._add(RequestsDropped(user=user, count=count, reason=reason))

    def _drop(self, received: ReceivedRequest, reason: str) -> bool:
        self.dropped.add(received.key)
        self._told[received.user] = self._told.get(received.user, (0, ""))[0] + 1, reason
        return False

    def _ends_something(self, received: ReceivedRequest) -> bool:
        """Return True if this cancels something that still runs: users over their limits can still do that."""
        request, state = received.request, self._state
        job = state.jobs.get(request.job) if isinstance(request, Cancel) else None
        if job is None or not isinstance(request, Cancel) or refusal(request, received.user, state, self._inputs):
            return False
        if request.task is None:
            return job.ended is None and not job.cancelled_by
        task = job.tasks.get(request.task)
        return job.task_state(request.task) not in ENDED and not (task and task.cancel)
