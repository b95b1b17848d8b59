"""A value beside the schema that a discovery document gives it: what does not fit. Pure."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Schema = Mapping[str, Any]

_DURATION = re.compile(r"-?\d{1,12}(?:\.\d{1,9})?s")
_DATETIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)")
_MASK = re.compile(r"[\w.]+(?:,[\w.]+)*")
_RANGES = {
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint64": (0, 2**64 - 1),
}
_OUTPUT_ONLY = re.compile(r"\[?output[ _]only\b", re.IGNORECASE)
_REQUIRED = re.compile(r"Required\.")


@dataclass(frozen=True, slots=True)
class Complaint:
    """What is wrong, and where: `kind` is `unknown`, `value`, `missing` or `output`."""

    kind: str
    where: str
    text: str


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read: all schemas by name; the method, if its request is read; and whether the value comes from us.

    `given`: what the URL says already. `fit`: parts of earlier answers that fit, by identity and schema. They never change,
    and most of a listing is what the last one showed.
    """

    schemas: Mapping[str, Schema]
    method: str = ""
    answer: bool = False
    creates: bool = False
    given: frozenset[str] = frozenset()
    where: str = ""
    fit: dict[tuple[int, str], object] = field(default_factory=dict)

    def at(self, part: str) -> Reading:
        """One level deeper."""
        where = f"{self.where}.{part}" if self.where and part[0] != "[" else self.where + part
        return Reading(self.schemas, self.method, self.answer, self.creates, self.given, where, self.fit)


def complaints(value: object, schema: Schema, reading: Reading) -> Iterator[Complaint]:
    """All that does not fit."""
    if "$ref" in schema:
        yield from _named(value, schema["$ref"], reading)
        return
    kind = schema.get("type", "any")
    if value is None and not reading.answer:
        return  # JSON's null is the absence of a field
    yield from _READERS[kind](value, schema, reading)


def _named(value: object, name: str, reading: Reading) -> Iterator[Complaint]:
    at = id(value), name
    if reading.answer and at in reading.fit:
        return
    wrong = list(complaints(value, reading.schemas[name], reading))
    if reading.answer and not wrong:
        reading.fit[at] = value  # held, so that its identity is nobody else's
    yield from wrong


def is_output(schema: Schema) -> bool:
    """The field is Google's to write."""
    return bool(schema.get("readOnly")) or bool(_OUTPUT_ONLY.match(schema.get("description", "")))


def _any(value: object, schema: Schema, reading: Reading) -> Iterator[Complaint]:
    return iter(())


def _object(value: object, schema: Schema, reading: Reading) -> Iterator[Complaint]:
    if not isinstance(value, dict):
        yield Complaint("value", reading.where, f"an object is wanted, not {_shown(value)}")
        return
    known: Mapping[str, Schema] = schema.get("properties", {})
    rest: Schema | None = schema.get("additionalProperties")
    for name, inner in value.items():
        if name in known:
            yield from _field(name, inner, known[name], reading)
        elif rest is not None:
            yield from complaints(inner, rest, reading.at(f"[{name}]"))
        else:
            yield Complaint("unknown", reading.where, name)
    for name, wanted in known.items():
        said = name in value or (not reading.where and name in reading.given)
        if not said and not reading.answer and _is_required(wanted, reading):
            yield Complaint("missing", reading.at(name).where, "required")


def _field(name: str, value: object, schema: Schema, reading: Reading) -> Iterator[Complaint]:
    inner = reading.at(name)
    # Google ignores most of these on input. A caller who sends one believes that it does something: refused here. What
    # was read may be written back as it was, though.
    if reading.creates and is_output(schema):
        yield Complaint("output", inner.where, "the field is output only")
        return
    yield from complaints(value, schema, inner)


def _is_required(schema: Schema, reading: Reading) -> bool:
    if reading.method in schema.get("annotations", {}).get("required", ()):
        return True
    described = bool(_REQUIRED.match(schema.get("description", "")))
    return described and reading.creates and not is_output(schema) and not reading.method.startswith("compute.")


def _array(value: object, schema: Schema, reading: Reading) -> Iterator[Complaint]:
    if not isinstance(value, list):
        yield Complaint("value", reading.where, f"a list is wanted, not {_shown(value)}")
        return
    for n, item in enumerate(value):
        yield from complaints(item, schema["items"], reading.at(f"[{n}]"))


def _string(value: object, schema: Schema, reading: Reading) -> Iterator[Complaint]:
    form = schema.get("format", "")
    if form in ("int64", "uint64") and isinstance(value, int) and not isinstance(value, bool) and not reading.answer:
        value = str(value)  # JSON's numbers are taken, but never given
    if not isinstance(value, str):
        yield Complaint("value", reading.where, f"a string is wanted, not {_shown(value)}")
    elif "enum" in schema and value not in schema["enum"]:
        yield Complaint("value", reading.where, f"{_shown(value)} is none of {', '.join(schema['enum'])}")
    elif form in _FORMS and not _FORMS[form](value):
        yield Complaint("value", reading.where, f"{_shown(value)} is no {form}")
    elif "pattern" in schema and not re.fullmatch(schema["pattern"], value):
        yield Complaint(
            "value", reading.where, f"Must be a match of regex '{schema['pattern']}', unlike {_shown(value)}"
        )


def _integer(value: object, schema: Schema, reading: Reading) -> Iterator[Complaint]:
    low, high = _RANGES[schema.get("format", "int32")]
    if isinstance(value, bool) or not isinstance(value, int):
        yield Complaint("value", reading.where, f"an integer is wanted, not {_shown(value)}")
    elif not max(low, int(schema.get("minimum", low))) <= value <= min(high, int(schema.get("maximum", high))):
        yield Complaint("value", reading.where, f"{value} is out of range")


def _number(value: object, schema: Schema, reading: Reading) -> Iterator[Complaint]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        yield Complaint("value", reading.where, f"a number is wanted, not {_shown(value)}")


def _boolean(value: object, schema: Schema, reading: Reading) -> Iterator[Complaint]:
    if not isinstance(value, bool):
        yield Complaint("value", reading.where, f"true or false is wanted, not {_shown(value)}")


def _shown(value: object) -> str:
    return repr(value)[:80]


def _is_integer(text: str, form: str) -> bool:
    low, high = _RANGES[form]
    return bool(re.fullmatch(r"-?\d{1,20}", text)) and low <= int(text) <= high


def _is_bytes(text: str) -> bool:
    try:
        base64.b64decode(text, altchars=b"-_" if {"-", "_"} & set(text) else None, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


_READERS: dict[str, Callable[[object, Schema, Reading], Iterator[Complaint]]] = {
    "any": _any,
    "object": _object,
    "array": _array,
    "string": _string,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
}
_FORMS: dict[str, Callable[[str], bool]] = {
    "int64": lambda text: _is_integer(text, "int64"),
    "uint64": lambda text: _is_integer(text, "uint64"),
    "byte": _is_bytes,
    "google-duration": lambda text: bool(_DURATION.fullmatch(text)),
    "google-datetime": lambda text: bool(_DATETIME.fullmatch(text)),
    "google-fieldmask": lambda text: bool(_MASK.fullmatch(text)),
}
