"""Whether a play in which processes fell ended as one could have ended in which none did. Pure.

It could, if

- every request was taken in once, with the same effect, and those of whom no client fell in the same order;
- every task ended in the same state;
- its attempts ended for the same causes in the same order, but that each machine or worker that fell may have had one
  more attempt lost or voided, in the place of another or beside the others: what infrastructure breaks uses up no try;
- the log of every worker that lived to the end is all that its process wrote, whole and in order, and ended; that of one
  that fell is a beginning of it;
- the same files of the admin's are in force, the same jobs held, the bastion paused or not;
- nobody sees a problem that nobody saw before;
- nothing is left: no request, no machine, no beat, no facts; no order and no claim of an attempt that nobody knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bastion.model import layout
from bastion.model.interfaces import AttemptKey
from bastion.model.state.state import Cause
from tests.simulation.crashes.outcome import Outcome, WorkerKey

INFRASTRUCTURE = {Cause.LOST, Cause.VOID}


def complaints(calm: Outcome, found: Outcome, *, spare: int, client_fell: bool) -> Iterator[str]:
    """Why it could not. `spare`: how many machines and workers fell."""
    yield from _requests(calm, found, in_order=not client_fell)
    yield from _same("tasks stand", calm.tasks, found.tasks)
    for task in calm.causes.keys() | found.causes.keys():
        was, came = calm.causes.get(task, []), found.causes.get(task, [])
        if not could(was, came, spare):
            yield f"the attempts of {task} ended for {came}; undisturbed for {was}, and {spare} may be lost"
    yield from _same("files in force are", calm.files, found.files)
    yield from _same("jobs are held", calm.held, found.held)
    yield from _same("jobs were forgotten", calm.forgotten, found.forgotten)
    yield from _same("it is paused", calm.paused, found.paused)
    yield from _same("problems are shown", calm.problems, found.problems)
    yield from leftovers(found)


def could(was: Sequence[Cause], came: Sequence[Cause], spare: int) -> bool:
    """The causes are the same, but for so many attempts that were lost: each beside the others, or in the place of one."""
    if not came:
        return not was
    if was and was[0] is came[0] and could(was[1:], came[1:], spare):
        return True
    if not spare or came[0] not in INFRASTRUCTURE:
        return False
    return could(was, came[1:], spare - 1) or (bool(was) and could(was[1:], came[1:], spare - 1))


def logs(found: Outcome, printed: dict[WorkerKey, str], hurt: set[WorkerKey]) -> Iterator[str]:
    """What is wrong with the logs. `hurt` are the workers that fell."""
    for named, text in printed.items():
        log = found.logs.get(named)
        stored = _without_ours(log.text) if log else ""
        if not text.startswith(stored) or (log and log.gaps):
            yield f"the log of {named} is {stored!r}, its process wrote {text!r}"
        elif named not in hurt and not (log and log.ended and stored == text):
            yield f"the log of {named} is not whole: {stored!r} of {text!r}, ended: {log is not None and log.ended}"


def leftovers(found: Outcome) -> Iterator[str]:
    """What is to be gone at rest and is there, or belongs to nobody."""
    yield from (f"machine {name} is left" for name in found.machines)
    for key in found.keys:
        if key.startswith((layout.INBOX, layout.BEATS, layout.FACTS)):
            yield f"{key} is left"
        if key.startswith((layout.ATTEMPTS, layout.CLAIMS)):
            attempt = _attempt(key)
            if attempt not in found.began or attempt.job in found.forgotten:
                yield f"{key} is of no attempt that anybody knows"


def _requests(calm: Outcome, found: Outcome, *, in_order: bool) -> Iterator[str]:
    names = [name for name, _, _ in found.requests]
    yield from (
        f"request {name} had {names.count(name)} effects" for name in sorted(set(names)) if names.count(name) > 1
    )
    was, came = (calm.requests, found.requests) if in_order else (sorted(calm.requests), sorted(found.requests))
    yield from _same("requests became", was, came)


def _same(what: str, was: object, came: object) -> Iterator[str]:
    if was != came:
        yield f"{what}: {came}; undisturbed: {was}"


def _attempt(key: str) -> AttemptKey:
    job, task, attempt = key.split("/")[1:4]
    return AttemptKey(job, int(task), int(attempt))


def _without_ours(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("[bastion] "))
