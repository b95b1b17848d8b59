"""The door to a cluster's API: paths and bodies as its own, and the errors that tell what to do next. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from bastion.model.errors import RunnerError

Object = dict[str, Any]
"""JSON by the words of the API's own schemas."""


class ApiError(RunnerError):
    """The API refused, or could not be asked. The text says what, on which object, and what to do next."""


class ObjectMissing(ApiError):
    """There is no such thing."""


class ObjectExists(ApiError):
    """The name is taken, or what is there is not what was meant."""


class Expired(ApiError):
    """A listing has gone on for too long, and has to begin anew."""


class ApiRefused(ApiError):
    """The API will not have it: asking again helps only once something has been changed."""


class Api(Protocol):
    """Requests to one cluster. Retries, and the renewal of credentials, are behind it. Each raises `ApiError`, and its kinds."""

    def get(self, path: str) -> Object:
        """One object."""

    def create(self, path: str, body: Mapping[str, Any]) -> Object:
        """Make an object. `ObjectExists` also where an answer was lost."""

    def delete(self, path: str, uid: str, *, grace_s: int | None = None) -> None:
        """Have an object deleted if it has this uid, with what belongs to it.

        Raises `ObjectMissing`; `ObjectExists` if it is another.
        """

    def items(self, path: str, selector: str, fields: str = "") -> list[Object]:
        """All objects with these labels and fields, of one moment."""


class Cluster(Api, Protocol):
    """What may also be done with a cluster by those who look after a bastion there."""

    def change(self, path: str, body: Mapping[str, Any]) -> Object:
        """Lay these fields over those of an object; lists are replaced."""

    def text(self, path: str, **query: object) -> str:
        """What is no object: a log."""
