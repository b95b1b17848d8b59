"""Requests in: listed with one request, read, judged, and removed once their effect is in the journal."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from bastion import layout
from bastion.admit import complaints
from bastion.errors import BastionError, BucketError, Missing
from bastion.events import (
    AnyEvent,
    CancelRequested,
    Held,
    JobRejected,
    Paused,
    Released,
    RequestRejected,
    Resumed,
    Submitted,
    Topped,
    Updated,
)
from bastion.permit import not_for, refusal
from bastion.plan import Inputs, pool_of
from bastion.ports import Bucket, Stat
from bastion.requests import (
    REQUEST_BYTES_MAX,
    AboutAll,
    AboutJob,
    Cancel,
    Hold,
    Pause,
    Release,
    Request,
    Resume,
    Submit,
    Top,
    Update,
    job_id,
    parse,
)
from bastion.spec import USER, JobSpec
from bastion.state import State

READS_MAX = 2_000
TOPS_MAX = 32
_LONG_AGO = datetime.min.replace(tzinfo=UTC)
REQUEST_ID = re.compile(r"[A-Za-z0-9]{1,64}")


@dataclass(frozen=True, slots=True)
class Letter:
    """One request of the inbox; `name` is what the state knows it by. `problem` says why it is no request at all.

    `stored` is by the store's clock.
    """

    key: str
    user: str
    id: str
    request: Request | None
    problem: str = ""
    stored: datetime = _LONG_AGO

    @property
    def name(self) -> str:
        """User and id."""
        return layout.request_name(self.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sorted:
    """A listing: keys to read now, the number that has to wait, keys whose effect is known, names that are still there.

    `kept` are those that were read before, and wait for what the others say.
    """

    read: tuple[Stat, ...]
    later: int
    known: tuple[str, ...]
    names: frozenset[str]
    kept: tuple[Letter, ...]


def sort(state: State, listing: Iterable[Stat], waiting: Mapping[str, Letter]) -> Sorted:
    """What to read of a listing: at most 2,000, one of each user in turn, so that no flood hides others.

    `waiting` are letters that were read before, by key.
    """
    known, kept, users, names = [], [], defaultdict[str, deque[Stat]](deque), set()
    for stat in listing:
        if layout.is_probe(stat.key):
            continue
        name = layout.request_name(stat.key)
        names.add(name)
        if name in state.requests:
            known.append(stat.key)
        elif stat.key in waiting:
            kept.append(waiting[stat.key])
        else:
            users[_user(stat.key)].append(stat)
    read, later = _in_turn(users.values())
    return Sorted(read=read, later=later, known=tuple(known), names=frozenset(names), kept=tuple(kept))


def _in_turn(users: Iterable[Iterable[Stat]]) -> tuple[tuple[Stat, ...], int]:
    chosen: list[Stat] = []
    waiting = deque(deque(sorted(own, key=_age)) for own in users)
    while waiting and len(chosen) < READS_MAX:
        queue = waiting.popleft()
        chosen.append(queue.popleft())
        if queue:
            waiting.append(queue)
    return tuple(sorted(chosen, key=_age)), sum(map(len, waiting))


def _age(found: Stat | Letter) -> tuple[datetime, str]:
    """The store's clock orders what one listing shows; beyond that, the journal is the order."""
    return found.stored if isinstance(found, Letter) else found.modified, found.key


def read(bucket: Bucket, stat: Stat) -> Letter | None:
    """One request; None if it is gone. Raises `BucketError`."""
    named = layout.request_of(stat.key)
    user, request_id = named or ("", stat.key)
    request, problem = None, ""
    try:
        if named is None or not USER.fullmatch(user) or not REQUEST_ID.fullmatch(request_id):
            problem = "its key is not inbox/<user>/<request id>.json"
        elif stat.size > REQUEST_BYTES_MAX:
            problem = f"it has {stat.size} bytes; at most {REQUEST_BYTES_MAX} are allowed"
        else:
            request = parse(bucket.read(stat.key).data)
    except Missing:
        return None
    except BucketError:
        raise
    except BastionError as error:
        problem = str(error)[:2048]
    return Letter(stat.key, user, request_id, request, problem, stat.modified)


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """Letters to judge now, in order; those that wait for the next tick; and what went wrong."""

    now: tuple[Letter, ...]
    later: tuple[Letter, ...]
    failed: tuple[Exception, ...]


def in_order(mail: Sorted, found: Sequence[Letter | Exception | None]) -> Read:
    """What came of reading a listing, submissions first, so that what is asked of a job finds it if it came along.

    What a user asked after a request that cannot be read now waits for that one, lest a release go before its hold; an end
    may be asked for at any time. And of what takes a pass over all who wait there is only so much in one tick.
    """
    letters = [*mail.kept, *(letter for letter in found if isinstance(letter, Letter))]
    letters.sort(key=lambda letter: (not isinstance(letter.request, Submit), _age(letter)))
    gaps: dict[str, tuple[datetime, str]] = {}
    for stat, problem in zip(mail.read, found, strict=True):
        if isinstance(problem, Exception):
            gaps.setdefault(_user(stat.key), _age(stat))
    late = {letter.key for letter in letters if _waits(letter) and _age(letter) > gaps.get(letter.user, _age(letter))}
    late |= {letter.key for letter in [one for one in letters if isinstance(one.request, Top)][TOPS_MAX:]}
    return Read(
        now=tuple(letter for letter in letters if letter.key not in late),
        later=tuple(letter for letter in letters if letter.key in late),
        failed=tuple(problem for problem in found if isinstance(problem, Exception)),
    )


def _waits(letter: Letter) -> bool:
    return not isinstance(letter.request, Submit | Cancel | None)


def _user(key: str) -> str:
    return layout.request_name(key).partition("/")[0]


def judge(state: State, letter: Letter, inputs: Inputs, *, all_read: bool) -> AnyEvent | None:
    """The event that a request becomes; None if it has to wait until all others of its listing are read."""
    request = letter.request
    if letter.name in state.requests:
        return None
    if isinstance(request, Submit):
        return _submit(state, letter, request.spec, inputs)
    if request is None:
        return RequestRejected(request=letter.name, user=letter.user, reason=letter.problem)
    if isinstance(request, (Pause, Resume)):
        return _about_all(letter, request, inputs)
    return _about_job(state, letter, request, inputs, all_read)


def _submit(state: State, letter: Letter, spec: JobSpec, inputs: Inputs) -> AnyEvent:
    job = job_id(spec.name, letter.id)
    if spec.user != letter.user:
        reason = f"the spec names the user {spec.user}, but lies in the inbox of {letter.user}"
        return RequestRejected(request=letter.name, user=letter.user, reason=reason, job=job)
    if job in state.jobs:
        reason = f"there is a job {job} already; submit it again"
        return RequestRejected(request=letter.name, user=letter.user, reason=reason, job=job)
    wrong = complaints(spec, inputs.quota, pool_of(state, inputs) if state.capacity else None)
    if wrong:
        return JobRejected(
            request=letter.name, job=job, name=spec.name, user=spec.user, project=spec.project, reason="; ".join(wrong)
        )
    return Submitted(request=letter.name, job=job, spec=spec)


def _about_job(state: State, letter: Letter, request: AboutJob, inputs: Inputs, all_read: bool) -> AnyEvent | None:
    known = request.job in state.jobs
    if not known and not all_read:
        return None
    wrong = refusal(request, letter.user, state, inputs) if known else f"there is no job {request.job}"
    if wrong:
        return RequestRejected(request=letter.name, user=letter.user, reason=wrong, job=request.job)
    asked = {"request": letter.name, "user": letter.user, "job": request.job}
    match request:
        case Cancel():
            return CancelRequested(**asked, task=request.task)
        case Hold():
            return Held(**asked)
        case Release():
            return Released(**asked)
        case Top():
            return Topped(**asked)
        case Update():
            return Updated(**asked, changes=request.changes)


def _about_all(letter: Letter, request: AboutAll, inputs: Inputs) -> AnyEvent:
    if wrong := not_for(letter.user, request, inputs.config.admins):
        return RequestRejected(request=letter.name, user=letter.user, reason=wrong)
    return (Paused if isinstance(request, Pause) else Resumed)(request=letter.name, user=letter.user)
