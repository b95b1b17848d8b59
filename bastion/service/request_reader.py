"""Read the inbox: list it, choose requests from each user in turn, and put them into order."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import chain, islice

from msgspec import UNSET

from ..model import layout
from ..model.errors import BastionError, ObjectNotFound, TooLarge
from ..model.interfaces import Bucket, Stat
from ..model.job.start_conditions import conditions
from ..model.layout import job_id
from ..model.state.state import State
from ..model.stored.requests import NAMELESS, REQUEST_BYTES_MAX, Cancel, Submit, Top, Update, names_of, parse
from ..model.wording import one_line
from .received_request import ReceivedRequest, RequestAuthors

READS_MAX = 2_000
READ_BYTES_MAX = 32 * 1024**2
"""The most requests, and the most bytes of them, that are read in one tick."""

EACH_MAX = 10_000
"""The most requests of one user that are used from one listing."""

PASSES_MAX = 32
"""The most requests in one tick that need a pass over all pending jobs."""

_AFTER_SLASH = "0"  # the character that follows `/`: `a0` is greater than every key of the folder `a`
PROBLEM_MAX = 2_048


@dataclass(frozen=True, slots=True, kw_only=True)
class SortedRequests:
    """One listing of the inbox, sorted by what to do with each request.

    read: what to read now, oldest first.
    later: what is left for a later tick.
    known: keys to remove: their effect is in the journal, or they were dropped.
    names: names of all requests that are still in the inbox.
    kept: requests that were read before and wait for others.
    cut: users with more requests than one listing shows.
    fresh: it was taken now; False: it is the rest of an earlier one.
    """

    read: tuple[Stat, ...]
    later: tuple[Stat, ...]
    known: tuple[str, ...]
    names: frozenset[str]
    kept: tuple[ReceivedRequest, ...]
    cut: frozenset[str] = frozenset()
    fresh: bool = True

    @property
    def more(self) -> bool:
        """Return True if there is more than is read now."""
        return bool(self.later or self.cut)


def listed(bucket: Bucket) -> Iterator[Stat]:
    """List the inbox, with at most 10,001 requests of one user.

    A flood of requests costs a few more list requests, and no memory.
    """
    after, going_on = "", True
    while going_on:
        user, count, going_on = "", 0, False
        for stat in bucket.list(layout.INBOX, after=after):
            before, user = user, _user(stat.key)
            count = count + 1 if user == before else 1
            yield stat
            if count > EACH_MAX:
                after, going_on = f"{layout.INBOX}{user}{_AFTER_SLASH}", True
                break


def sort(
    state: State,
    listing: Iterable[Stat],
    waiting: Mapping[str, ReceivedRequest],
    dropped: Collection[str] = frozenset(),
) -> SortedRequests:
    """Choose what to read of a listing: at most 2,000 requests and 32 MiB.

    They are taken from each user in turn, so that a flood by one user does not hide the requests of others.

    `waiting` holds requests that were read before, by key; `dropped` the keys of those that had no effect.
    """
    known, kept, users, names = [], [], defaultdict[str, deque[Stat]](deque), set()
    counts = Counter[str]()
    for stat in listing:
        if layout.is_probe(stat.key):
            continue
        name = layout.request_name(stat.key)
        user = name.partition("/")[0]
        counts[user] += 1
        names.add(name)
        if name in state.requests or stat.key in dropped:
            known.append(stat.key)
        elif stat.key in waiting:
            kept.append(waiting[stat.key])
        else:
            users[user].append(stat)
    read, later = _in_turn(users.values())
    cut = frozenset(user for user, count in counts.items() if count > EACH_MAX)
    return SortedRequests(read=read, later=later, known=tuple(known), names=frozenset(names), kept=tuple(kept), cut=cut)


def _in_turn(users: Iterable[Iterable[Stat]]) -> tuple[tuple[Stat, ...], tuple[Stat, ...]]:
    chosen: list[Stat] = []
    size = 0
    waiting = deque(deque(sorted(own, key=age)) for own in users)
    while waiting and len(chosen) < READS_MAX and size < READ_BYTES_MAX:
        queue = waiting.popleft()
        chosen.append(queue.popleft())
        size += chosen[-1].size if chosen[-1].size <= REQUEST_BYTES_MAX else 0  # a larger one is never read
        if queue:
            waiting.append(queue)
    return tuple(sorted(chosen, key=age)), tuple(chain.from_iterable(waiting))


def age(found: Stat | ReceivedRequest) -> tuple[datetime, str]:
    """Return the sort key of a request: the store's clock orders one listing; across listings the journal decides."""
    return found.stored if isinstance(found, ReceivedRequest) else found.modified, found.key


def read(
    bucket: Bucket, stat: Stat, *, recall: bool = False, authors: RequestAuthors | None = None
) -> ReceivedRequest | None:
    """Read one request. Return None if it is gone. Raises `BucketError`.

    `authors` checks the account that wrote the request; None means no check. With `recall`, a submit is also checked
    against jobs that the bastion has forgotten: a client that slept for months may send one again.
    """
    user, request_id = layout.request_of(stat.key) or ("", stat.key)
    received = partial(ReceivedRequest, stat.key, user, request_id, stored=stat.modified, size=stat.size)
    if not received(None).is_somebodys:
        return received(None, "the request's key is not inbox/<user>/<request id>.json")
    large = (
        f"the request has {stat.size} bytes; at most {REQUEST_BYTES_MAX} are allowed"
        if stat.size > REQUEST_BYTES_MAX
        else ""
    )
    if large and not authors:
        return received(None, large, job=NAMELESS)
    try:
        stored = bucket.read(stat.key, REQUEST_BYTES_MAX)
    except ObjectNotFound:
        return None
    except TooLarge as error:  # only its owner was read, not its data
        if forged := _forged(received(None), error.owner, authors):
            return forged
        return received(None, large or str(error), job=NAMELESS)
    # Check this before parsing: an error message may quote the request, to an account that may not read it.
    if forged := _forged(received(None), stored.owner, authors):
        return forged
    try:
        request = parse(stored.data)
    except BastionError as error:
        return received(None, one_line(str(error), PROBLEM_MAX), job=names_of(stored.data))
    if authors and (homeless := authors.homeless(user, stored.owner, request)):
        return received(None, homeless, job=names_of(stored.data))
    if recall and isinstance(request, Submit) and _has_been(bucket, job_id(request.spec.name, request_id)):
        return received(None, "a job of this id was here before and ended long ago; submit it again")
    return received(request)


def _forged(received: ReceivedRequest, owner: int | None, authors: RequestAuthors | None) -> ReceivedRequest | None:
    """Return the rejection of a request in another user's name; None if it is genuine.

    The rejection counts as a request of the account that wrote it.
    """
    if authors is None or owner is None or not (problem := authors.forged(received.user, owner)):
        return None
    return replace(received, user=authors.name_of(owner), problem=problem)


def _has_been(bucket: Bucket, job: str) -> bool:
    """Return True if a job of this id was here before and has ended."""
    try:
        bucket.read(layout.ended(job))
    except ObjectNotFound:
        return False
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestsRead:
    """The requests of one look into the inbox, split by when they are handled.

    now: requests to handle now, in order.
    later: requests that wait for the next tick.
    failed: errors of reads that failed.
    missed: the listing's entries for these reads.
    """

    now: tuple[ReceivedRequest, ...]
    later: tuple[ReceivedRequest, ...]
    failed: tuple[Exception, ...]
    missed: tuple[Stat, ...] = ()


def in_order(inbox: SortedRequests, found: Sequence[ReceivedRequest | Exception | None]) -> RequestsRead:
    """Order what was read: submissions first, so that a request about a job finds it if both came together.

    Among submissions, a job comes behind those that it depends on. If one request of a user could not be read, later
    ones of that user wait for it, so that no release overtakes its hold; a cancel never waits. Requests that need a
    pass over all pending jobs are limited to `PASSES_MAX` in one tick.
    """
    requests = [*inbox.kept, *(received for received in found if isinstance(received, ReceivedRequest))]
    requests.sort(key=lambda received: (not isinstance(received.request, Submit), age(received)))
    requests = _needed_first(requests)
    gaps: dict[str, tuple[datetime, str]] = {}
    for stat, problem in zip(inbox.read, found, strict=True):
        if isinstance(problem, Exception):
            gaps.setdefault(_user(stat.key), age(stat))
    late = {
        received.key
        for received in requests
        if keeps_order(received) and age(received) > gaps.get(received.user, age(received))
    }
    late |= {received.key for received in [one for one in requests if _takes_a_pass(one)][PASSES_MAX:]}
    return RequestsRead(
        now=tuple(received for received in requests if received.key not in late),
        later=tuple(received for received in requests if received.key in late),
        failed=tuple(problem for problem in found if isinstance(problem, Exception)),
        missed=tuple(stat for stat, problem in zip(inbox.read, found, strict=True) if isinstance(problem, Exception)),
    )


def missed(bucket: Bucket, inbox: SortedRequests, requests: Iterable[ReceivedRequest]) -> tuple[Stat, ...]:
    """List requests that are older than the newest of these and missing from their listing.

    A listing that is taken while a user writes may show a release without the hold before it. A second listing, begun
    after the requests were read, shows both.
    """
    newest = max(map(age, requests))
    late = (stat for stat in listed(bucket) if age(stat) < newest and not layout.is_probe(stat.key))
    return tuple(islice((stat for stat in late if layout.request_name(stat.key) not in inbox.names), READS_MAX))


def keeps_order(received: ReceivedRequest) -> bool:
    """Return True if its effect depends on the requests before it."""
    return not isinstance(received.request, Submit | Cancel | None)


def _takes_a_pass(received: ReceivedRequest) -> bool:
    """Return True if handling it needs a pass over all pending jobs."""
    request = received.request
    return isinstance(request, Top) or (isinstance(request, Update) and request.changes.after is not UNSET)


def _needed_first(requests: Sequence[ReceivedRequest]) -> list[ReceivedRequest]:
    """Return the same requests, each job behind those of this listing that it depends on.

    Jobs that depend on each other keep any order.
    """
    submits = {job_id(one.request.spec.name, one.id): one for one in requests if isinstance(one.request, Submit)}
    needs = {
        one.key: iter([submits[each.job] for each in conditions(one.request.spec.after) if each.job in submits])
        for one in requests
        if isinstance(one.request, Submit) and one.request.spec.after
    }
    if not needs:
        return list(requests)
    met: set[str] = set()
    found: list[ReceivedRequest] = []
    for received in requests:
        trail = [] if received.key in met else [received]
        while trail:
            met.add(trail[-1].key)
            ahead = next((one for one in needs.get(trail[-1].key, ()) if one.key not in met), None)
            if ahead:
                trail.append(ahead)
            else:
                found.append(trail.pop())
    return found


def _user(key: str) -> str:
    return layout.request_name(key).partition("/")[0]
