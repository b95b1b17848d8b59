"""One request of the inbox, as it was read, and whose it is. Pure."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Authors:
    """Decides whether an account may ask in a user's name, where the store tells which account wrote a request.

    `own` is the bastion's account by its number: it and root may write in anybody's name. `number_of` looks an account up by
    its name, None if there is none; `name_of` the other way round. `as_submitter`: jobs run as the account of their user.
    `refused`: why the jobs of other accounts do not run here; "": they do.
    """

    own: int
    number_of: Callable[[str], int | None]
    name_of: Callable[[int], str]
    as_submitter: bool = False
    refused: str = ""

    def forged(self, user: str, owner: int | None) -> str:
        """What is wrong with a request in this user's name that this account wrote; empty if nothing is."""
        if owner is None or self._may_act_for_others(owner) or self.number_of(user) == owner:
            return ""
        return f"it asks in the name of {user}, and {self.name_of(owner)} wrote it; only root may ask in another's name"

    def homeless(self, user: str, owner: int | None, request: Request) -> str:
        """Why a job of this user cannot run here as anybody's; empty if it can, or the request is for no job."""
        if not isinstance(request, Submit):
            return ""
        if self.as_submitter and self.number_of(user) is None:
            return (
                f"jobs run as who submits them, and this machine has no account {user}; create it, or submit as another"
            )
        return self.refused if owner is not None and not self._may_act_for_others(owner) else ""

    def _may_act_for_others(self, owner: int) -> bool:
        return owner in (ROOT, self.own)
