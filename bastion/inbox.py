"""Requests in: listed with one request, read, judged, and removed once their effect is in the journal."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from bastion import layout
from bastion.admit import complaints
from bastion.errors import BastionError, BucketError, Missing
from bastion.events import (
    AnyEvent,
    CancelRequested,
    Held,
    JobRejected,
    Released,
    RequestRejected,
    Submitted,
    Topped,
    Updated,
)
from bastion.permit import refusal
from bastion.plan import Inputs, pool_of
from bastion.ports import Bucket, Stat
from bastion.requests import (
    REQUEST_BYTES_MAX,
    AboutJob,
    Cancel,
    Hold,
    Release,
    Request,
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
REQUEST_ID = re.compile(r"[A-Za-z0-9]{1,64}")


@dataclass(frozen=True, slots=True)
class Letter:
    """One request of the inbox; `name` is what the state knows it by. `problem` says why it is no request at all."""

    key: str
    user: str
    id: str
    request: Request | None
    problem: str = ""

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
        name = layout.request_name(stat.key)
        names.add(name)
        if name in state.requests:
            known.append(stat.key)
        elif stat.key in waiting:
            kept.append(waiting[stat.key])
        else:
            users[name.partition("/")[0]].append(stat)
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


def _age(stat: Stat) -> tuple[datetime, str]:
    """The store's clock orders what one listing shows; beyond that, the journal is the order."""
    return stat.modified, stat.key


def read(bucket: Bucket, stat: Stat) -> Letter | None:
    """One request; None if it is gone. Raises `BucketError`."""
    named = layout.request_of(stat.key)
    user, request_id = named or ("", stat.key)
    if named is None or not USER.fullmatch(user) or not REQUEST_ID.fullmatch(request_id):
        return Letter(stat.key, user, request_id, None, "its key is not inbox/<user>/<request id>.json")
    if stat.size > REQUEST_BYTES_MAX:
        return Letter(
            stat.key, user, request_id, None, f"it has {stat.size} bytes; at most {REQUEST_BYTES_MAX} are allowed"
        )
    try:
        return Letter(stat.key, user, request_id, parse(bucket.read(stat.key).data))
    except Missing:
        return None
    except BucketError:
        raise
    except BastionError as error:
        return Letter(stat.key, user, request_id, None, str(error)[:2048])


def judge(state: State, letter: Letter, inputs: Inputs, *, all_read: bool) -> AnyEvent | None:
    """The event that a request becomes; None if it has to wait until all others of its listing are read."""
    request = letter.request
    if letter.name in state.requests:
        return None
    if isinstance(request, Submit):
        return _submit(state, letter, request.spec, inputs)
    if request is None:
        return RequestRejected(request=letter.name, user=letter.user, reason=letter.problem)
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


def in_order(letters: Iterable[Letter]) -> tuple[list[Letter], list[Letter]]:
    """Submissions before anything else, so that what is asked of a job finds it if it came along; and what is left
    to the next tick, lest a flood of requests that each take a pass over all who wait holds up this one.
    """
    letters = sorted(letters, key=lambda letter: not isinstance(letter.request, Submit))
    tops = [letter for letter in letters if isinstance(letter.request, Top)]
    later = {letter.key for letter in tops[TOPS_MAX:]}
    return [one for one in letters if one.key not in later], [one for one in letters if one.key in later]
