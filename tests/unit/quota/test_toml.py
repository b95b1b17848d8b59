"""TOML of strangers: what takes long to read, or could not be said again, is refused with its line."""

from __future__ import annotations

from fractions import Fraction

import pytest

from bastion.quota.toml_reader import TomlError, loads


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("a = 1\n\nb = \n", 3, "Invalid value"),
        ('a = "', 1, "Unterminated string"),
        ("a = 1\nb = [1,\n", 2, "Invalid value"),
        ("a = 1\nb = " + "[" * 5_000, 1, "it is nested too deeply; use plain tables and lists"),
        ("a = 1\n" + ".".join("b" * 5_000) + " = 1", 2, "a key has more than 128 parts; use plain tables and lists"),
        ("a = 1\nb = " + "9" * 5_000, 1, "Exceeds the limit"),
        ("a = 1\nb = 0x" + "f" * 5_000, 2, "a whole number needs more than 64 bits"),
        ("a = 1\nb = 9223372036854775808", 2, "a whole number needs more than 64 bits"),
        ("[a]\n[[b]]\n[[b]]\nc = [1, {d = 0x1" + "0" * 16 + "}]", 4, "a whole number needs more than 64 bits"),
    ],
)
def test_what_we_do_not_read_is_said_with_its_line(text: str, line: int, what: str) -> None:
    with pytest.raises(TomlError) as caught:
        loads(text)
    assert caught.value.line == line
    assert caught.value.what.startswith(what)
    assert str(caught.value) == f"line {line}: not TOML: {caught.value.what}"


def test_whole_numbers_of_64_bits_are_read_and_fractions_as_the_reader_wants_them() -> None:
    text = "a = 9223372036854775807\nb = -9223372036854775808\nc = 0.1"
    assert loads(text, parse_float=Fraction) == {"a": 2**63 - 1, "b": -(2**63), "c": Fraction(1, 10)}
