"""Ways to spoil what is valid: bytes cut, flipped and doubled; values, types and names swapped; and things made from nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

Draw = Callable[[st.SearchStrategy[Any]], Any]
Spoil = Callable[[Draw, bytes], bytes]

ODD_TEXTS = (
    "", " ", "..", "../..", "/", "a/b", "\n", "\r\n", "\0", "\x1b[2J", "\u202egnp", "'", '"', "é", "\uff41", "\U0001f600",
    "%2F", "-rf", "~", "${HOME}", "`id`", "<script>", "=1+1", "a" * 70, "x" * 3_000, "null", "1e999", "inf", "nan",
)  # fmt: skip
ODD_JSON = (
    "null", "true", "[]", "{}", "0", "-1", "1", "0.5", "-0.0", "1e308", "1e400", "-1e400", "9" * 20, "9" * 400,
    "9" * 5_000, "NaN", "Infinity", "-Infinity", '"\\ud800"', '"\\u0000"', '"\\u202e"', "[" * 300 + "]" * 300,
    '{"a":' * 300 + "1" + "}" * 300,
    '"2026-01-31T12:00:00"', '"0001-01-01T00:00:00+23:59"', '"9999-12-31T23:59:59-23:59"', '"2026-01-31T12:00:00Z"',
    '{"a":1,"a":2}', "[[]]", "01", "1.", '"', "{", "[1,", "//", "", "\x00",
    *(json.dumps(text) for text in ODD_TEXTS),
)  # fmt: skip
ODD_TOML = (
    "true", "0", "-1", "1.5", "1e400", "nan", "-inf", "0x" + "f" * 5_000, "9" * 5_000, "9" * 30, "[]", "{}", "[[]]", '""', '"""',
    "'", "[", "]", "[a]", "[[a]]", "=", "a.b.c = 1", "2026-01-31T12:00:00", "07:32:00", "[" * 200, "#", "\\u0000",
    "{a = {b = 1}}",     '"(a+)+"', '"[a-"', '"\\\\1"', '"a{99999999}"', *(json.dumps(text) for text in ODD_TEXTS),
)  # fmt: skip
_TOKEN = re.compile(rb'"[^"\n]*"|[A-Za-z0-9_.+:-]+|[^\sA-Za-z0-9]')
_TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


def _at(draw: Draw, size: int) -> int:
    return int(draw(st.integers(0, max(0, size - 1))))


def flipped(draw: Draw, data: bytes) -> bytes:
    """One byte is another."""
    at = _at(draw, len(data))
    return data[:at] + bytes([draw(st.integers(0, 255))]) + data[at + 1 :]


def cut(draw: Draw, data: bytes) -> bytes:
    """The end is missing."""
    return data[: _at(draw, len(data))]


def holed(draw: Draw, data: bytes) -> bytes:
    """A part is missing."""
    at = _at(draw, len(data))
    return data[:at] + data[at + draw(st.integers(1, 16)) :]


def doubled(draw: Draw, data: bytes) -> bytes:
    """A part comes twice."""
    at = _at(draw, len(data))
    part = data[at : at + draw(st.integers(1, 64))]
    return data[:at] + part + data[at:]


def stuffed(draw: Draw, data: bytes) -> bytes:
    """There are bytes more."""
    at = _at(draw, len(data))
    return data[:at] + bytes(draw(st.binary(min_size=1, max_size=24))) + data[at:]


def of_nothing(draw: Draw, data: bytes) -> bytes:
    """Any bytes."""
    return bytes(draw(st.binary(max_size=64)))


def _swap(draw: Draw, data: bytes, values: tuple[str, ...]) -> bytes:
    tokens = list(_TOKEN.finditer(data))
    if not tokens:
        return data + b"!"
    token = tokens[_at(draw, len(tokens))]
    return data[: token.start()] + draw(st.sampled_from(values)).encode() + data[token.end() :]


def json_token(draw: Draw, data: bytes) -> bytes:
    """A word, a number or a sign of JSON is something odd."""
    return _swap(draw, data, ODD_JSON)


def toml_token(draw: Draw, data: bytes) -> bytes:
    """A word, a number or a sign of TOML is something odd."""
    return _swap(draw, data, ODD_TOML)


def text_token(draw: Draw, data: bytes) -> bytes:
    """A word of a line is something odd."""
    return _swap(draw, data, ODD_TEXTS)


def json_value(draw: Draw, data: bytes) -> bytes:
    """A value somewhere in a tree of JSON is another, of another type; or is not there, or has another name."""
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError):
        return json_token(draw, data)
    places = list(_places(tree))
    if not places:
        return bytes(draw(st.sampled_from(ODD_JSON)).encode())
    inside, key = places[_at(draw, len(places))]
    how = draw(st.sampled_from(("odd", "tree", "gone", "renamed", "twice")))
    if how == "gone":
        del inside[key]
    elif how == "renamed" and isinstance(inside, dict):
        inside[draw(st.sampled_from(ODD_TEXTS))] = inside.pop(key)
    elif how == "tree":
        inside[key] = draw(_TREES)
    else:
        inside[key] = "@@"
        odd = draw(st.sampled_from(ODD_JSON))
        twice = f"{odd},{json.dumps(str(key))}:{odd}" if how == "twice" and isinstance(inside, dict) else odd
        return _dumped(tree).replace(b'"@@"', twice.encode("utf-8", "surrogatepass"))
    return _dumped(tree)


def _places(tree: Any) -> Any:
    for key in list(tree) if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ():
        yield tree, key
        yield from _places(tree[key])


def _dumped(tree: Any) -> bytes:
    return json.dumps(tree).encode()


def json_tree(draw: Draw, data: bytes) -> bytes:
    """Any JSON."""
    return _dumped(draw(_TREES))


def line_doubled(draw: Draw, data: bytes) -> bytes:
    """A line comes twice."""
    lines = data.split(b"\n")
    at = _at(draw, len(lines))
    return b"\n".join([*lines[:at], lines[at], *lines[at:]])


BYTES: tuple[Spoil, ...] = (flipped, cut, holed, doubled, stuffed, of_nothing)
FORMS: dict[str, tuple[Spoil, ...]] = {
    "bytes": BYTES,
    "json": (*BYTES, json_token, json_token, json_value, json_value, json_value, json_tree),
    "toml": (*BYTES, toml_token, toml_token, toml_token, line_doubled),
    "text": (*BYTES, text_token, text_token),
}


@st.composite
def spoiled(draw: Draw, samples: tuple[bytes, ...], form: str) -> bytes:
    """A valid input, spoiled one to three times."""
    data: bytes = draw(st.sampled_from(samples))
    for _ in range(draw(st.integers(1, 3))):
        data = draw(st.sampled_from(FORMS[form]))(draw, data)
    return data
