"""Laws about what people write: no user acts or runs as another one, and input that cannot be read changes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bastion.model import layout
from bastion.model.state.state import State
from bastion.model.stored.events import (
    AnyEvent,
    CancelRequested,
    FileBroken,
    FileChanged,
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
from tests.simulation.parts.broken import Broken

ADMINS = frozenset({"root"})
ACCOUNTS = {"root": 0, "ann": 1001, "bob": 1002, "eve": 1003, "amy": 1004}
"""The users of a world, with the numbers of the accounts that own what they write."""

NAMES = {number: name for name, number in ACCOUNTS.items()}

_ASKED = (CancelRequested, Held, Released, Topped, Updated)
_OF_ALL = (Paused, Resumed)


@dataclass(slots=True)
class InputLaws:
    """Keeps the names of invalid requests in the inbox, and the valid texts of the two files.

    `writers`: the accounts that wrote each object, by the store's own record.
    """

    garbage: set[str] = field(default_factory=set)
    good: set[str] = field(default_factory=set)
    in_force: dict[str, str | None] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)
    writers: Mapping[str, Sequence[int]] = field(default_factory=dict)

    def event(self, event: AnyEvent, truth: State) -> None:
        """Check an event of the journal."""
        if isinstance(event, (*_ASKED, *_OF_ALL, Submitted)):
            self._asked(event.request, self._user(event), truth, event)
        elif isinstance(event, (JobRejected, RequestRejected)):
            if not self._wrote(event.user, event.request):
                raise Broken(
                    f"the refusal of request {event.request} counts as that of {event.user}, who did not write it"
                )
        elif isinstance(event, FileChanged):
            if not event.text and self.in_force.get(event.file):
                raise Broken(f"the good {event.file} file is out of force, with no other in its place")
            if event.text and event.text not in self.good:
                raise Broken(f"the {event.file} file that is in force now is not good")
            self.in_force[event.file] = event.text
        elif isinstance(event, FileBroken):
            known = truth.files[event.file]
            is_last = (known.version, known.problem) == (event.version, event.problem)  # of its journal object
            if is_last and known.text != self.in_force.get(event.file):
                raise Broken(f"a {event.file} file that cannot be used took the place of the last good one")

    def _asked(self, request: str, user: str, truth: State, event: AnyEvent) -> None:
        if request in self.done:
            raise Broken(f"request {request} has its effect a second time, as {type(event).__name__}")
        self.done.add(request)
        if request in self.garbage:
            raise Broken(f"request {request} is garbage, and became {type(event).__name__}")
        if request.partition("/")[0] != user:
            raise Broken(f"request {request} counts as {user}'s")
        if not self._wrote(user, request):
            raise Broken(f"request {request} acts in the name of {user}, who did not write it")
        whose = truth.jobs[event.job].user if isinstance(event, _ASKED) and event.job in truth.jobs else user
        allowed = ADMINS if isinstance(event, _OF_ALL) else ADMINS | {whose}
        if user not in allowed:
            raise Broken(f"{user} may not ask for {type(event).__name__}, request {request}")

    def runs(self, job: str, account: str, truth: State) -> None:
        """Check the account as which a process of a job runs."""
        request = truth.jobs[job].request if job in truth.jobs else ""
        if request and not self._wrote(account, request):
            raise Broken(f"{job} runs as {account or 'the bastion itself'}, which did not submit it")

    def authors(self, key: str) -> list[str]:
        """Return the writers of an object, by the names that the bastion has for their accounts."""
        return [NAMES[account] for account in self.writers.get(key, ())]

    def _wrote(self, user: str, request: str) -> bool:
        """Return True if the user or root wrote the request. An object without a writer was there from the start."""
        writers = self.writers.get(f"{layout.INBOX}{request}.json", (0,))
        return not {ACCOUNTS["root"], ACCOUNTS.get(user, -1)}.isdisjoint(writers)

    def _user(self, event: AnyEvent) -> str:
        return event.spec.user if isinstance(event, Submitted) else str(getattr(event, "user", ""))
