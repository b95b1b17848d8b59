"""One request as it was read from the inbox, and the check of the account that wrote it. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from ..model import layout
from ..model.job.spec import USER
from ..model.stored.requests import Names, Request, Submit

ROOT = 0

REQUEST_ID = re.compile(r"[A-Za-z0-9]{1,64}")

LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """One request as it was read from the inbox.

    key: its key in the bucket.
    user: the user in whose name it asks.
    id: its request id.
    request: the request; None: it is not valid.
    problem: why it is not valid; "": it is.
    stored: when it was stored, by the store's clock.
    size: its size in bytes.
    job: the names of its job, where the request itself is not valid; None: there are none.
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
        """Return True if its key names a valid user and request id, so that the user can get an answer."""
        return bool(USER.fullmatch(self.user) and REQUEST_ID.fullmatch(self.id))

    @property
    def name(self) -> str:
        """The user and the id, as the state names this request."""
        return layout.request_name(self.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestAuthors:
    """The accounts that may ask in each user's name, where the store tells which account wrote a request.

    own: number of the bastion's own account: it and root may write in the name of any user.
    number_of: returns the number of the account with this name; None if there is none.
    name_of: returns the name of the account with this number.
    as_submitter: jobs run as the account of their user.
    refused: why jobs of other accounts do not run here; "": they do.
    """

    own: int
    number_of: Callable[[str], int | None]
    name_of: Callable[[int], str]
    as_submitter: bool = False
    refused: str = ""

    def forged(self, user: str, owner: int | None) -> str:
        """Return what is wrong with a request in this user's name that this account wrote; empty if nothing is."""
        if owner is None or self._may_act_for_others(owner) or self.number_of(user) == owner:
            return ""
        return f"the request names the user {user}, but {self.name_of(owner)} wrote it; only root may act for others"

    def homeless(self, user: str, owner: int | None, request: Request) -> str:
        """Return why a job of this user has no account to run as here; empty if it has one, or no job is submitted."""
        if not isinstance(request, Submit):
            return ""
        if self.as_submitter and self.number_of(user) is None:
            return f"each job runs as its user, and this machine has no account {user}; create it, or submit as another"
        return self.refused if owner is not None and not self._may_act_for_others(owner) else ""

    def _may_act_for_others(self, owner: int) -> bool:
        return owner in (ROOT, self.own)
