"""The door to Google's APIs but storage: one call by its name, and the errors that tell what to do next. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from bastion.model.errors import Later, RunnerError

SCOPE = "https://www.googleapis.com/auth/cloud-platform"
"""What credentials are asked for: all that the account may do. Its roles say what that is."""

Answer = dict[str, Any]
"""An answer or a body: JSON by the words of Google's own schema."""


class GoogleError(RunnerError):
    """An API refused, or could not be asked. The text says what, on which object, for whom, and what to do next."""


class NoRight(GoogleError):
    """Our account lacks a permission: which one, on which resource, and the role that has it."""


class NoLogin(GoogleError):
    """There are no credentials, or they have expired."""


class NotThere(GoogleError):
    """There is no such thing."""


class IsThere(GoogleError):
    """The name is taken: maybe by us, by a call whose answer was lost."""


class NoQuota(GoogleError):
    """The project's quota is used up. Elsewhere may help."""


class NoStock(GoogleError):
    """The zone has none left now. Later, or elsewhere, may help."""


class BadCall(GoogleError):
    """The call makes no sense to the API: asking again cannot help."""


class TooMany(GoogleError, Later):
    """Our share of requests a minute is used up, and waiting for it would take too long here."""


class Google(Protocol):
    """All calls to Google's APIs. Retries, limits of rate and the lapse of credentials are behind it."""

    def call(self, method: str, /, **parameters: Any) -> Answer:
        """One call, by the id that Google's discovery document gives it: `tpu.projects.locations.nodes.get`.

        Parameters are the document's, `body` among them. A creation or deletion that is named (by the id or the
        `requestId` in its parameters) may be sent again after a lost answer. Raises `GoogleError`, and its kinds.
        """

    def pages(self, method: str, items: str, /, **parameters: Any) -> Iterator[Any]:
        """The items of all pages of a listing: the lists (or, in an aggregated listing, the pairs) under `items`.

        Raises as `call`; and `GoogleError` if a part of the listing could not be asked (`unreachable`): a part is not
        the whole.
        """

    def rest(self, seconds: float) -> None:
        """Let time pass between two questions about the same."""
