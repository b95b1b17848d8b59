"""JSON in and out, strictly: unknown fields and newer schemas are refused, and the refusal names the object. Pure."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from bastion.errors import Newer, RecordError

T = TypeVar("T")
SCHEMA = 1

_ENCODER = msgspec.json.Encoder()
_DECODERS: dict[Any, msgspec.json.Decoder[Any]] = {}


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The base of every object that we write as JSON into the bucket."""

    schema: int = SCHEMA


def encode(value: Any) -> bytes:
    """JSON: fields in the order of their declaration, tables in the order of their making."""
    return _ENCODER.encode(value)


def readable(*kinds: Any) -> None:
    """Prepare to read these kinds: to be said where they are declared, before there are threads.

    msgspec describes a type at its first use, and crashes the process if two threads do so at once.
    """
    _DECODERS.update((kind, msgspec.json.Decoder(kind)) for kind in kinds)


def decode(data: bytes, kind: type[T], what: str) -> T:
    """JSON to a value of a `readable` kind. Raises `RecordError` naming `what`, or `Newer` if the schema is above ours."""
    try:
        value: T = _DECODERS[kind].decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        refuse_newer(data, what)
        raise RecordError(f"{what} cannot be read: {error}") from error
    if getattr(value, "schema", SCHEMA) > SCHEMA:
        refuse_newer(data, what)
    return value


class _Schema(msgspec.Struct):
    schema: int = SCHEMA


readable(_Schema)


def refuse_newer(data: bytes, what: str) -> None:
    """Raise `Newer` if `data` says that its schema is above ours; whatever else is wrong with it."""
    try:
        schema = _DECODERS[_Schema].decode(data).schema
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return
    if schema > SCHEMA:
        raise Newer(f"{what} has schema {schema}, and this version of Bastion reads up to {SCHEMA}: upgrade")
