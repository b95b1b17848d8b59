"""Strict JSON in and out, and the times and stamps that are stored in it. Pure.

Unknown fields and newer schemas are refused, and the error names the object.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

import msgspec

from .errors import NewerVersion, RecordError
from .version import VERSION, is_newer
from .wording import one_line, shown

T = TypeVar("T")
ERROR_MAX = 300

Moment = Annotated[datetime, msgspec.Meta(tz=True)]
"""A time with its zone, so that it can be compared with others."""

_YEARS = 2, 9_998
_ENCODER = msgspec.json.Encoder()
_DECODERS: dict[Any, msgspec.json.Decoder[Any]] = {}
_SCHEMAS: dict[Any, int | None] = {}


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The base of every object that we write as JSON into the bucket.

    Each kind declares a field `schema` with `numbered`: the number of its form. The base has no field of its own, so that
    a kind can have a second base.
    """


def numbered(schema: int) -> Any:
    """Return the field `schema` for a kind of record.

    A reader recognises the form by this number. So it is written even where defaults are left out.
    """
    return msgspec.field(default_factory=lambda: schema)


def encode(value: Any) -> bytes:
    """Return JSON: fields in the order of their declaration, tables in the order of their insertion."""
    return _ENCODER.encode(value)


def whole(value: Any) -> str:
    """Return a setting as JSON for people: a table with all of its fields, also those at their defaults."""
    return encode(msgspec.structs.asdict(value) if isinstance(value, msgspec.Struct) else value).decode()


def readable(*kinds: Any) -> None:
    """Prepare to read these kinds. Call it where they are declared, before there are threads.

    msgspec describes a type at its first use, and crashes the process if two threads do so at the same time.
    """
    _DECODERS.update((kind, msgspec.json.Decoder(kind)) for kind in kinds)
    _SCHEMAS.update((kind, schema_of(kind)) for kind in kinds)


def schema_of(kind: Any) -> int | None:
    """Return the schema in which we write this kind; None for a kind that is only a part of others."""
    if not (isinstance(kind, type) and issubclass(kind, Record)):
        return None
    number = next(field.default_factory for field in msgspec.structs.fields(kind) if field.name == "schema")
    return int(number()) if callable(number) else None


def decode(data: bytes, kind: type[T], what: str) -> T:
    """Parse JSON into a value of a `readable` kind.

    Raises `RecordError` naming `what`, or `NewerVersion` if the schema is above ours.
    """
    known = _SCHEMAS[kind]
    try:
        value: T = _DECODERS[kind].decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        if known is not None:
            refuse_newer(data, what, known)
            refuse_unknown(data, what, error)
        raise RecordError(f"{what} cannot be read: {one_line(str(error), ERROR_MAX)}") from error
    if known is not None and not 1 <= (schema := getattr(value, "schema", known)) <= known:
        refuse_newer(data, what, known)
        if schema < 1:
            raise RecordError(f"{what} has schema {shown(schema)}; they are numbered from 1")
    return value


class _Head(msgspec.Struct):
    """The part of a record that can be read in any version.

    schema: the number of its form.
    version: version of the program that wrote it; "" if it does not say.
    """

    schema: int = 1
    version: str = ""


readable(_Head)


def refuse_newer(data: bytes, what: str, known: int) -> None:
    """Raise `NewerVersion` if `data` has a schema above the one we know, whatever else is wrong with it."""
    head = _head(data)
    if head is not None and head.schema > known:
        writer = f"Bastion {head.version}" if is_newer(head.version) else "a newer version of Bastion"
        raise NewerVersion(
            f"{what} has schema {shown(head.schema)}, of {writer}; "
            f"this is Bastion {VERSION}, which reads up to {known}: upgrade"
        )


def refuse_unknown(data: bytes, what: str, error: Exception) -> None:
    """Raise `NewerVersion` if a later version wrote `data`, which was refused with this error.

    Then the data is not wrong: this version does not understand it.
    """
    head = _head(data)
    if head is not None and is_newer(head.version):
        why = one_line(str(error), ERROR_MAX)
        raise NewerVersion(
            f"{what} is of Bastion {head.version}, and this is Bastion {VERSION}: upgrade ({why})"
        ) from error


def _head(data: bytes) -> _Head | None:
    try:
        head: _Head = _DECODERS[_Head].decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return head


def movable(*moments: datetime | None) -> None:
    """Raise `ValueError` for a time at the end of the calendar, which cannot be moved to another zone.

    A wrong clock may write such a time.
    """
    if any(moment is not None and not _YEARS[0] <= moment.year <= _YEARS[1] for moment in moments):
        raise ValueError(f"Expected a time of the years {_YEARS[0]} to {_YEARS[1]}")


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    """The user and the time of an action with a lasting effect.

    user: the user who did it.
    at: when.
    """

    user: str
    at: Moment

    def __str__(self) -> str:
        """Return `alice since 2026-01-31T09:30:00Z`."""
        return f"{self.user} since {since(self)}"


def since(stamp: AuditEntry) -> str:
    """Return the time as `2026-01-31T09:30:00Z`."""
    return f"{stamp.at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
