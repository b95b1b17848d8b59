"""Laws about users who write too much: what is stored of them has a limit for each text, request and day."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date

from bastion.model.codec import encode
from bastion.model.stored.events import AnyEvent, CancelRequested, FileChanged, JobRejected, OfRequest, RequestRejected
from bastion.model.stored.journal_object import JournalObject
from tests.simulation.parts.broken import Broken

TEXT_BYTES, REFUSED_BYTES = 2_048, 4_096
"""The most bytes of a stored text of a user or worker, and of the rejection of a request in the journal."""

REQUESTS_A_DAY = 150
"""The most requests of one user that are accepted on a day, in a world where a user floods the inbox."""

LIMITS = f"[limits]\nrequests_per_user = {REQUESTS_A_DAY}\n".encode()
"""The part of the settings that sets this limit."""

SAID = ("reason", "message", "problem", "why", "what")
"""Fields of events that hold texts of users, workers, runners and stores."""


@dataclass(slots=True)
class BloatLaws:
    """Counts the accepted requests of each user on each day. `bounded`: all settings so far had the limit."""

    bounded: bool = True
    taken: Counter[tuple[str, date]] = field(default_factory=Counter)

    def written(self, record: JournalObject) -> None:
        """Check a journal object."""
        for event in record.events:
            self.texts(type(event).__name__, (getattr(event, name, "") for name in SAID))
            if isinstance(event, FileChanged) and event.file == "config":
                self.bounded &= LIMITS.decode() in (event.text or "")
            if isinstance(event, OfRequest) and not isinstance(event, CancelRequested):
                self._takes(event, record.now.date())

    def texts(self, where: str, said: Iterable[object]) -> None:
        """Check the length of texts that are stored."""
        for text in said:
            if isinstance(text, str) and len(text.encode()) > TEXT_BYTES:
                raise Broken(f"{where} stores a text of {len(text.encode())} bytes")

    def _takes(self, event: AnyEvent, day: date) -> None:
        request = str(getattr(event, "request", ""))
        if isinstance(event, (JobRejected, RequestRejected)) and len(data := encode(event)) > REFUSED_BYTES:
            raise Broken(f"the refusal of {request} takes {len(data)} bytes of the journal")
        # A refusal names the writer: that is a law of inputs.
        user = event.user if isinstance(event, RequestRejected) else request.partition("/")[0]
        self.taken[user, day] += 1
        if self.bounded and self.taken[user, day] > REQUESTS_A_DAY:
            raise Broken(
                f"{self.taken[user, day]} requests of {user} are taken in on a day, {REQUESTS_A_DAY} are allowed"
            )
