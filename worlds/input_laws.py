"""What must hold of what people write: nobody acts for another, and what cannot be read changes nothing."""

from __future__ import annotations

from dataclasses import dataclass, field

from bastion.events import (
    AnyEvent,
    CancelRequested,
    FileBroken,
    FileChanged,
    Held,
    Paused,
    Released,
    Resumed,
    Submitted,
    Topped,
    Updated,
)
from bastion.state import State
from worlds.broken import Broken

ADMINS = frozenset({"root"})

_ASKED = (CancelRequested, Held, Released, Topped, Updated)
_OF_ALL = (Paused, Resumed)


@dataclass(slots=True)
class InputLaws:
    """Keeps what was written that is no good: the names of garbage in the inbox; and the good texts of the two files."""

    garbage: set[str] = field(default_factory=set)
    good: set[str] = field(default_factory=set)
    in_force: dict[str, str | None] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)

    def event(self, event: AnyEvent, truth: State) -> None:
        """An event of the journal."""
        if isinstance(event, (*_ASKED, *_OF_ALL, Submitted)):
            self._asked(event.request, self._user(event), truth, event)
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
        whose = truth.jobs[event.job].user if isinstance(event, _ASKED) and event.job in truth.jobs else user
        allowed = ADMINS if isinstance(event, _OF_ALL) else ADMINS | {whose}
        if user not in allowed:
            raise Broken(f"{user} may not ask for {type(event).__name__}, request {request}")

    def _user(self, event: AnyEvent) -> str:
        return event.spec.user if isinstance(event, Submitted) else str(getattr(event, "user", ""))
