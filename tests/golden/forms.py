"""The forms of all that we write into the bucket, as values that can be stored and compared."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import Any, get_args

import msgspec

from bastion.journal.recover import Snapshot
from bastion.journal.tombstones import Tombstone
from bastion.model import version
from bastion.model.job.spec import SPEC, JobSpec
from bastion.model.settings.config import Config
from bastion.model.stored.journal_object import JournalObject
from bastion.model.stored.records import Claim, Facts, Order, Peers, StopOrder
from bastion.model.stored.requests import Request
from bastion.model.stored.status import Status

KINDS: dict[str, Any] = {
    "JOURNAL": JournalObject,
    "SNAPSHOT": Snapshot,
    "TRACE": Tombstone,
    "STATUS": Status,
    "ORDER": Order,
    "STOP": StopOrder,
    "WORLD": Peers,
    "CLAIM": Claim,
    "FACTS": Facts,
    "REQUEST": Request,
    "SPEC": JobSpec,
    "CONFIG": Config,
}
"""The kinds of objects that are written, by the name of their number in `bastion.model.version`, or in `spec` for a spec."""

RECORDED = {
    "AuditEntry": "Stamp",
    "AuditLine": "Byline",
    "AdminFileStatus": "File",
    "DailyBytes": "Sent",
    "DecayedUsage": "Used",
    "GitSettings": "Git",
    "Peer": "Member",
    "Peers": "World",
    "Tombstone": "Trace",
    "Unreachable": "Blind",
    "UserLimits": "Limits",
    "UserUsage": "UserUse",
}
"""Tables under other names in code than in recorded forms, each with its recorded name. What is written has neither."""

_RENAMED = re.compile(rf"\b(?:{'|'.join(RECORDED)})\b")


class Form(msgspec.Struct, frozen=True):
    """One table: its fields with type and default. `spare`: what is at its default is not written."""

    fields: dict[str, str]
    spare: bool


class Forms(msgspec.Struct, frozen=True):
    """The number of each kind, the tables that it is made of, and these."""

    numbers: dict[str, int]
    kinds: dict[str, list[str]]
    tables: dict[str, Form]


def forms() -> Forms:
    """Of this code."""
    reached = {
        kind: {_recorded(table.__name__): table for table in _tables(root, set())} for kind, root in KINDS.items()
    }
    return Forms(
        numbers={kind: SPEC if kind == "SPEC" else getattr(version, kind) for kind in KINDS},
        kinds={kind: sorted(tables) for kind, tables in reached.items()},
        tables={name: _form(table) for tables in reached.values() for name, table in sorted(tables.items())},
    )


def unannounced(old: Forms, new: Forms) -> list[str]:
    """What differs of a kind though its number is the same, so that who knows the old form would misread or refuse the new.

    Fields that are not written where they say nothing may come, and so may tables and words that nobody used before.
    """
    return [
        f"{kind}: {difference}"
        for kind, tables in old.kinds.items()
        if old.numbers[kind] == new.numbers[kind]
        for table in tables
        for difference in _differences(table, old.tables[table], new.tables.get(table))
    ]


def _differences(name: str, old: Form, new: Form | None) -> Iterator[str]:
    if new is None:
        yield f"{name} is gone"
        return
    for field, text in old.fields.items():
        if _bare(new.fields.get(field, "gone")) != _bare(text):
            yield f"{name}.{field} was {text}, and is {new.fields.get(field, 'gone')}"
    if new.spare < old.spare:
        yield f"{name} writes its defaults now"
    if not new.spare:
        yield from (f"{name}.{field} came, and is always written" for field in new.fields.keys() - old.fields.keys())


def _bare(text: str) -> str:
    """A type whose defaults are left out: those of a table within are compared as that table's."""
    return re.sub(r"( = \w+)\(.*\)$", r"\1()", _homeless(text))


def _recorded(text: str) -> str:
    """A type under the names that its tables have in recorded forms."""
    return _RENAMED.sub(lambda found: RECORDED[found[0]], text)


def _homeless(text: str) -> str:
    """A type without the module that it is declared in: code may move, and what is written stays."""
    return re.sub(r"\b(?:[a-z_]\w*\.)+(?=\w)", "", text)


def _tables(kind: Any, met: set[Any]) -> Iterator[type]:
    """Every struct and enumeration that a type is made of."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct | Enum) and kind not in met:
        met.add(kind)
        yield kind
    inner = [f.type for f in msgspec.structs.fields(kind)] if _is_struct(kind) and kind in met else get_args(kind)
    for part in inner:
        if part not in met:
            yield from _tables(part, met)


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _form(table: type) -> Form:
    if issubclass(table, Enum):
        return Form(fields={member.name: str(member.value) for member in table}, spare=True)
    assert issubclass(table, msgspec.Struct)
    told = {f.name: _text(f) for f in msgspec.structs.fields(table) if f.name != "schema"}
    return Form(fields=told, spare=bool(table.__struct_config__.omit_defaults))


def _text(field: msgspec.structs.FieldInfo) -> str:
    kind = field.type.__name__ if isinstance(field.type, type) and not get_args(field.type) else str(field.type)
    if field.default is msgspec.NODEFAULT or field.name == "version":
        return _recorded(_homeless(kind))
    return _recorded(_homeless(f"{kind} = {field.default!r}"))
