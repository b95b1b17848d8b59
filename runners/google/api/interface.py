"""The interface to Google's APIs, except storage: one method per kind of call, and errors that say what to do next.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from bastion.model.errors import NotReady, RunnerError

SCOPE = "https://www.googleapis.com/auth/cloud-platform"
"""The OAuth scope of our credentials: everything that the account may do. The account's roles set the limits."""

Answer = dict[str, Any]
"""An answer or a request body: JSON in the form of Google's own schemas."""


class GoogleError(RunnerError):
    """An API refused a call, or could not be asked.

    The text gives the call, the object, the account and what to do next.
    """


class PermissionMissing(GoogleError):
    """Our account lacks a permission. The text names the permission, the resource and a role that has it."""


class CredentialsMissing(GoogleError):
    """There are no credentials, or they have expired."""


class ResourceNotFound(GoogleError):
    """The object does not exist."""


class ResourceExists(GoogleError):
    """The name is taken: perhaps by us, through a call whose answer was lost."""


class QuotaExhausted(GoogleError):
    """The project's quota is used up. Another place may help."""


class Stockout(GoogleError):
    """The zone has no capacity left now. Waiting, or another zone, may help."""


class InvalidCall(GoogleError):
    """The API cannot accept this call. A retry cannot help."""


class RateLimited(GoogleError, NotReady):
    """The limit of requests a minute is reached, and the wait for a turn would be too long here."""


class Google(Protocol):
    """All calls to Google's APIs. The implementation handles retries, rate limits and expired credentials."""

    def call(self, method: str, /, **parameters: Any) -> Answer:
        """Make one call, named by its id in Google's discovery document: `tpu.projects.locations.nodes.get`.

        The parameters are those of the document, `body` among them. A creation or deletion with a name (the id or the
        `requestId` in its parameters) may be sent again after a lost answer. Raises `GoogleError` or a subclass.
        """

    def pages(self, method: str, items: str, /, **parameters: Any) -> Iterator[Any]:
        """Yield the items of all pages of a listing: the lists (in an aggregated listing: the pairs) under `items`.

        Raises as `call` does; and `GoogleError` if a part of the listing could not be read (`unreachable`), because a
        part is not the whole.
        """

    def rest(self, seconds: float) -> None:
        """Let time pass between two questions about the same thing."""
