"""One request of the inbox, as it was read. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from bastion import layout
from bastion.requests import Names, Request
from bastion.spec import USER

REQUEST_ID = re.compile(r"[A-Za-z0-9]{1,64}")

LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Letter:
    """One request of the inbox; `name` is what the state knows it by. `problem` says why it is no request at all.

    `stored` is by the store's clock, `size` in bytes. `job` are the names of one that cannot be read otherwise.
    """

    key: str
    user: str
    id: str
    request: Request | None
    problem: str = ""
    stored: datetime = LONG_AGO
    size: int = 0
    job: Names | None = None

    @property
    def is_somebodys(self) -> bool:
        """Its key names a user who may be told."""
        return bool(USER.fullmatch(self.user) and REQUEST_ID.fullmatch(self.id))

    @property
    def name(self) -> str:
        """User and id."""
        return layout.request_name(self.key)
