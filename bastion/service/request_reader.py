"""Requests in: listed with one request, read in turn, and put into the order in which they are judged."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import chain, islice

from msgspec import UNSET

from ..model import layout
from ..model.errors import BastionError, Missing, TooLarge
from ..model.interfaces import Bucket, Stat
from ..model.job.start_conditions import conditions
from ..model.state.state import State
from ..model.stored.requests import NAMELESS, REQUEST_BYTES_MAX, Cancel, Submit, Top, Update, job_id, names_of, parse
from ..model.wording import one_line
from .received_request import Authors, ReceivedRequest

READS_MAX = 2_000
READ_BYTES_MAX = 32 * 1024**2
"""So many requests, and so many bytes of them, are read in one tick."""

EACH_MAX = 10_000
"""So many requests of one user are seen in one listing."""

PASSES_MAX = 32
_AFTER_SLASH = "0"  # the character that follows `/`: `a0` is greater than every key of the folder `a`
PROBLEM_MAX = 2_048


@dataclass(frozen=True, slots=True, kw_only=True)
class SortedRequests:
    """A listing: what to read now, what has to wait, keys whose effect is known, names that are still there.

    `kept` are those that were read before, and wait for what the others say. Of the users in `cut` there is more. `fresh`:
    it was taken now, and is not what was left of an earlier one.
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
        """There is more than is to be read now."""
        return bool(self.later or self.cut)


def listed(bucket: Bucket) -> Iterator[Stat]:
    """The inbox, but of one user no more than 10,000 and one: whoever floods it costs a few list requests more, and no memory."""
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
    """What to read of a listing: at most 2,000 and 32 MiB, one of each user in turn, so that no flood hides others.

    `waiting` are letters that were read before, by key; `dropped` the keys of those that had no effect.
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
        size += chosen[-1].size if chosen[-1].size <= REQUEST_BYTES_MAX else 0  # of a larger one nothing is read
        if queue:
            waiting.append(queue)
    return tuple(sorted(chosen, key=age)), tuple(chain.from_iterable(waiting))


def age(found: Stat | ReceivedRequest) -> tuple[datetime, str]:
    """The store's clock orders what one listing shows; beyond that, the journal is the order."""
    return found.stored if isinstance(found, ReceivedRequest) else found.modified, found.key


def read(bucket: Bucket, stat: Stat, *, recall: bool = False, authors: Authors | None = None) -> ReceivedRequest | None:
    """One request; None if it is gone. Raises `BucketError`.

    `recall`: jobs were forgotten, so a submit may be one of those, sent again by a client that slept for months.
    `authors` knows the accounts of those who write; None: nobody asks who wrote it.
    """
    user, request_id = layout.request_of(stat.key) or ("", stat.key)
    letter = partial(ReceivedRequest, stat.key, user, request_id, stored=stat.modified, size=stat.size)
    if not letter(None).is_somebodys:
        return letter(None, "its key is not inbox/<user>/<request id>.json")
    large = (
        f"it has {stat.size} bytes; at most {REQUEST_BYTES_MAX} are allowed" if stat.size > REQUEST_BYTES_MAX else ""
    )
    if large and not authors:
        return letter(None, large, job=NAMELESS)
    try:
        stored = bucket.read(stat.key, REQUEST_BYTES_MAX)
    except Missing:
        return None
    except TooLarge as error:  # of which nothing was read but whose it is
        if forged := _forged(letter(None), error.owner, authors):
            return forged
        return letter(None, large or str(error), job=NAMELESS)
    # Before it is parsed: what a complaint repeats of it would be shown to an account that may not read it.
    if forged := _forged(letter(None), stored.owner, authors):
        return forged
    try:
        request = parse(stored.data)
    except BastionError as error:
        return letter(None, one_line(str(error), PROBLEM_MAX), job=names_of(stored.data))
    if authors and (homeless := authors.homeless(user, stored.owner, request)):
        return letter(None, homeless, job=names_of(stored.data))
    if recall and isinstance(request, Submit) and _has_been(bucket, job_id(request.spec.name, request_id)):
        return letter(None, "its job was here before, and ended long ago; submit it anew")
    return letter(request)


def _forged(letter: ReceivedRequest, owner: int | None, authors: Authors | None) -> ReceivedRequest | None:
    """The refusal of a request in another's name, which is its writer's own, and counts as theirs; None if it is none."""
    if authors is None or owner is None or not (problem := authors.forged(letter.user, owner)):
        return None
    return replace(letter, user=authors.name_of(owner), problem=problem)


def _has_been(bucket: Bucket, job: str) -> bool:
    try:
        bucket.read(layout.ended(job))
    except Missing:
        return False
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestsRead:
    """Letters to judge now, in order; those that wait for the next tick; what went wrong, and with which."""

    now: tuple[ReceivedRequest, ...]
    later: tuple[ReceivedRequest, ...]
    failed: tuple[Exception, ...]
    missed: tuple[Stat, ...] = ()


def in_order(mail: SortedRequests, found: Sequence[ReceivedRequest | Exception | None]) -> RequestsRead:
    """What came of reading a listing, submissions first, so that what is asked of a job finds it if it came along, and of
    these first those that others wait for.

    What a user asked after a request that cannot be read now waits for that one, lest a release go before its hold; an end
    may be asked for at any time. And of what takes a pass over all who wait there is only so much in one tick.
    """
    letters = [*mail.kept, *(letter for letter in found if isinstance(letter, ReceivedRequest))]
    letters.sort(key=lambda letter: (not isinstance(letter.request, Submit), age(letter)))
    letters = _needed_first(letters)
    gaps: dict[str, tuple[datetime, str]] = {}
    for stat, problem in zip(mail.read, found, strict=True):
        if isinstance(problem, Exception):
            gaps.setdefault(_user(stat.key), age(stat))
    late = {
        letter.key for letter in letters if keeps_order(letter) and age(letter) > gaps.get(letter.user, age(letter))
    }
    late |= {letter.key for letter in [one for one in letters if _takes_a_pass(one)][PASSES_MAX:]}
    return RequestsRead(
        now=tuple(letter for letter in letters if letter.key not in late),
        later=tuple(letter for letter in letters if letter.key in late),
        failed=tuple(problem for problem in found if isinstance(problem, Exception)),
        missed=tuple(stat for stat, problem in zip(mail.read, found, strict=True) if isinstance(problem, Exception)),
    )


def missed(bucket: Bucket, mail: SortedRequests, letters: Iterable[ReceivedRequest]) -> tuple[Stat, ...]:
    """What is older than the newest of these letters, and was not listed with them: a listing that is taken while somebody writes
    may show a release, and not the hold before it. One more listing, begun after the letters were read, shows both.
    """
    newest = max(map(age, letters))
    late = (stat for stat in listed(bucket) if age(stat) < newest and not layout.is_probe(stat.key))
    return tuple(islice((stat for stat in late if layout.request_name(stat.key) not in mail.names), READS_MAX))


def keeps_order(letter: ReceivedRequest) -> bool:
    """What it comes to depends on what was asked before it."""
    return not isinstance(letter.request, Submit | Cancel | None)


def _takes_a_pass(letter: ReceivedRequest) -> bool:
    request = letter.request
    return isinstance(request, Top) or (isinstance(request, Update) and request.changes.after is not UNSET)


def _needed_first(letters: Sequence[ReceivedRequest]) -> list[ReceivedRequest]:
    """The same, each job behind those of the listing that it waits for; as far as they do not wait for each other."""
    submits = {job_id(one.request.spec.name, one.id): one for one in letters if isinstance(one.request, Submit)}
    needs = {
        one.key: iter([submits[each.job] for each in conditions(one.request.spec.after) if each.job in submits])
        for one in letters
        if isinstance(one.request, Submit) and one.request.spec.after
    }
    if not needs:
        return list(letters)
    met: set[str] = set()
    found: list[ReceivedRequest] = []
    for letter in letters:
        trail = [] if letter.key in met else [letter]
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
