"""The interface to a cluster's API: paths and bodies as in the API itself, and errors that say what to do next.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from bastion.model.errors import RunnerError

Object = dict[str, Any]
"""JSON in the form of the API's own schemas."""


class ApiError(RunnerError):
    """The API refused a request, or could not be asked. The text says what, on which object, and what to do next."""


class ObjectMissing(ApiError):
    """The object does not exist."""


class ObjectExists(ApiError):
    """The name is taken, or the object with this name is not the one that was meant."""


class Expired(ApiError):
    """A listing took too long, and has to begin anew."""


class ApiRefused(ApiError):
    """The API does not accept the request. A retry helps only after something was changed."""


class Api(Protocol):
    """Requests to one cluster, with retries and renewed credentials. Each raises `ApiError` or a subclass."""

    def get(self, path: str) -> Object:
        """Return one object."""

    def create(self, path: str, body: Mapping[str, Any]) -> Object:
        """Create an object. Raises `ObjectExists` also where an earlier answer was lost."""

    def delete(self, path: str, uid: str, *, grace_s: int | None = None) -> None:
        """Delete the object if it has this uid, with everything that belongs to it.

        `grace_s` is the time in seconds for its end; None leaves it to the cluster. Raises `ObjectMissing`;
        `ObjectExists` if the object has another uid.
        """

    def items(self, path: str, selector: str, fields: str = "") -> list[Object]:
        """List all objects with these labels and fields, as of one moment."""


class Cluster(Api, Protocol):
    """The interface for people who look after a bastion in the cluster: `Api`, and two requests more."""

    def change(self, path: str, body: Mapping[str, Any]) -> Object:
        """Set these fields of an object. Lists are replaced."""

    def text(self, path: str, **query: object) -> str:
        """Return a text that is no object: a log."""
