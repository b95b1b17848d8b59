"""JSON in and out, strictly: unknown fields and newer schemas are refused, and the refusal names the object. Pure."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from .errors import Newer, RecordError
from .version import VERSION, is_newer
from .wording import one_line, shown

T = TypeVar("T")
ERROR_MAX = 300

_ENCODER = msgspec.json.Encoder()
_DECODERS: dict[Any, msgspec.json.Decoder[Any]] = {}
_SCHEMAS: dict[Any, int | None] = {}


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The base of every object that we write as JSON into the bucket. Each kind says by `numbered` what it has."""

    schema: int


def numbered(schema: int) -> Any:
    """The field `schema` of a kind of record: its form is known by this number, written also where defaults are left out."""
    return msgspec.field(default_factory=lambda: schema)


def encode(value: Any) -> bytes:
    """JSON: fields in the order of their declaration, tables in the order of their making."""
    return _ENCODER.encode(value)


def whole(value: Any) -> str:
    """A setting as JSON for people's eyes: a table with all of its fields, also those that say nothing new."""
    return encode(msgspec.structs.asdict(value) if isinstance(value, msgspec.Struct) else value).decode()


def readable(*kinds: Any) -> None:
    """Prepare to read these kinds: to be said where they are declared, before there are threads.

    msgspec describes a type at its first use, and crashes the process if two threads do so at once.
    """
    _DECODERS.update((kind, msgspec.json.Decoder(kind)) for kind in kinds)
    _SCHEMAS.update((kind, schema_of(kind)) for kind in kinds)


def schema_of(kind: Any) -> int | None:
    """The number of the form in which we write this kind; None for what is a part of others."""
    if not (isinstance(kind, type) and issubclass(kind, Record)):
        return None
    number = msgspec.structs.fields(kind)[0].default_factory
    return int(number()) if callable(number) else None


def decode(data: bytes, kind: type[T], what: str) -> T:
    """JSON to a value of a `readable` kind. Raises `RecordError` naming `what`, or `Newer` if the schema is above ours."""
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
    """What can be read of any record, of whatever version."""

    schema: int = 1
    version: str = ""


readable(_Head)


def refuse_newer(data: bytes, what: str, known: int) -> None:
    """Raise `Newer` if `data` says that its schema is above the one we know; whatever else is wrong with it."""
    head = _head(data)
    if head is not None and head.schema > known:
        writer = f"Bastion {head.version}" if is_newer(head.version) else "a newer version of Bastion"
        raise Newer(
            f"{what} has schema {shown(head.schema)}, of {writer}; "
            f"this is Bastion {VERSION}, which reads up to {known}: upgrade"
        )


def refuse_unknown(data: bytes, what: str, error: Exception) -> None:
    """Raise `Newer` if `data`, of which this is wrong, says that a later version wrote it: then it is that we do not know it."""
    head = _head(data)
    if head is not None and is_newer(head.version):
        why = one_line(str(error), ERROR_MAX)
        raise Newer(f"{what} is of Bastion {head.version}, and this is Bastion {VERSION}: upgrade ({why})") from error


def _head(data: bytes) -> _Head | None:
    try:
        head: _Head = _DECODERS[_Head].decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return head
