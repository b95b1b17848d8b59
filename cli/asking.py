"""Asking the bastion something about jobs: which are meant, whether it would refuse, one request for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from bastion.errors import BastionError, Forbidden, UsageError
from bastion.permit import refusal, stranger
from bastion.plan import inputs
from bastion.requests import AboutJob
from cli.desk import Desk, desk_of, user_of
from cli.main import DONE, Call
from launcher.find import Found, find
from launcher.submit import send
from launcher.view import View

SHOWN = 5


def ask(call: Call, request: Callable[[Found], AboutJob], told: Callable[[Found], str]) -> int:
    """Ask for each job that the words name, or for none if one of these requests would be refused.

    `told` says for people what is asked. Raises `Forbidden`, `BastionError`, `NotFound`, `UsageError`.
    """
    desk, user = desk_of(call), user_of(call)
    view = desk.reader().look()
    jobs = [whole(find(word, view)) for word in dict.fromkeys(call.words)]
    asked = [(found, request(found)) for found in jobs]
    check(user, view, asked)
    send_all(desk, user, asked)
    for found in jobs:
        call.output.note(told(found))
    answer(call, jobs)
    return DONE


def send_all(desk: Desk, user: str, asked: Sequence[tuple[Found, AboutJob]]) -> None:
    """One request for each, at once. Raises `BastionError` if some could not be stored."""
    sent = desk.tasks.map(
        lambda request: send(desk.bucket, user=user, request_id=desk.ids.new(), request=request),
        [request for _, request in asked],
    )
    failed = [error for error in sent if isinstance(error, Exception)]
    if failed:
        raise BastionError(f"{len(failed)} of {len(sent)} requests could not be stored: {failed[0]}") from failed[0]


def check(user: str, view: View, asked: Sequence[tuple[Found, AboutJob]]) -> None:
    """Raises `Forbidden` or `BastionError` with what the bastion would say, as far as it can be known."""
    known = inputs(view.state)
    foreign = [
        why
        for found, request in asked
        if (why := stranger(type(request), user, found.job or found.spec, known, found.id))
    ]
    if foreign:
        raise Forbidden(_few(foreign))
    wrong = [why for found, request in asked if found.job and (why := refusal(request, user, view.state, known))]
    if wrong:
        raise BastionError(_few(wrong))


def answer(call: Call, jobs: Sequence[Found]) -> None:
    """The names on standard output; as JSON one object for one job, and a list for several words."""
    if not call.output.json:
        for found in jobs:
            call.output.say(found.name)
        return
    rows: list[dict[str, Any]] = [{"id": found.id, "name": found.name} for found in jobs]
    call.output.data(rows[0] if len(call.words) == 1 else {"schema": 1, "jobs": rows})


def whole(found: Found) -> Found:
    """The job. Raises `UsageError` if one task of it is meant."""
    if found.task is not None:
        raise UsageError(f"this is asked of a whole job; leave out [{found.task}]")
    return found


def _few(lines: Sequence[str]) -> str:
    more = f"; and {len(lines) - SHOWN} more" if len(lines) > SHOWN else ""
    return "; ".join(lines[:SHOWN]) + more
