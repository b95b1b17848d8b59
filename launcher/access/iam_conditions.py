"""Evaluate conditions of Google's IAM on objects: does this condition hold for an object of this name? Pure.

They are written in CEL. This module understands comparisons of the resource, `startsWith`, `endsWith`, `!`, `&&`, `||`
and brackets. The answer for all else is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

LENGTH_MAX = 16_384
DEPTH_MAX = 32

Answer = bool | None
"""True, False, or None for unknown."""

_TOKEN = re.compile(
    r"""\s*(?:(?P<sign>&&|\|\||==|!=|!|\(|\))
      | (?P<call>resource\.name\.(?:startsWith|endsWith)) | (?P<field>resource\.(?:name|type|service))\b
      | "(?P<text>(?:[^"\\\n]|\\["\\])*)" | '(?P<single>[^'\\\n]*)')""",
    re.VERBOSE,
)
_SERVICE = "storage.googleapis.com"


class _Unknown(Exception):
    """A part of a condition that is not understood here."""


def holds(expression: str, name: str) -> Answer:
    """Return whether a condition holds for the object of this full name, `projects/_/buckets/b/objects/key`."""
    if not expression.strip():
        return True
    try:
        reader = _Reader(_tokens(expression), name)
        answer = reader.any(0)
        return answer if reader.at_end else None
    except _Unknown:
        return None


def _tokens(text: str) -> list[tuple[str, str]]:
    if len(text) > LENGTH_MAX:
        raise _Unknown
    found, at, text = [], 0, text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise _Unknown
        word, kind = match[match.lastgroup], match.lastgroup
        if kind in ("text", "single"):
            word, kind = re.sub(r"\\(.)", r"\1", word), "text"
        found.append((kind, word))
        at = match.end()
    return found


class _Reader:
    """A parser of one condition's tokens that evaluates them on the way. Mutable."""

    def __init__(self, tokens: Sequence[tuple[str, str]], name: str) -> None:
        self._tokens, self._at = tokens, 0
        self._values = {"resource.name": name, "resource.type": f"{_SERVICE}/Object", "resource.service": _SERVICE}

    @property
    def at_end(self) -> bool:
        """True if no token is left."""
        return self._at == len(self._tokens)

    def any(self, depth: int) -> Answer:
        """Evaluate parts that are joined with `||`."""
        return self._joined("||", lambda: self._all(depth), winner=True)

    def _all(self, depth: int) -> Answer:
        return self._joined("&&", lambda: self._one(depth), winner=False)

    def _joined(self, sign: str, part: Callable[[], Answer], *, winner: bool) -> Answer:
        parts = [part()]
        while self._takes(sign):
            parts.append(part())
        # An unknown part does not matter if another part decides alone.
        if winner in parts:
            return winner
        return None if None in parts else not winner

    def _one(self, depth: int) -> Answer:
        if depth > DEPTH_MAX:
            raise _Unknown
        if self._takes("!"):
            answer = self._one(depth + 1)
            return None if answer is None else not answer
        if self._takes("("):
            answer = self.any(depth + 1)
            self._needs(")")
            return answer
        return self._fact()

    def _fact(self) -> Answer:
        kind, word = self._next()
        if kind == "call":
            self._needs("(")
            text, name = self._text(), self._values["resource.name"]
            self._needs(")")
            return name.startswith(text) if word.endswith("startsWith") else name.endswith(text)
        if kind != "field":
            raise _Unknown
        _, sign = self._next()
        if sign not in ("==", "!="):
            raise _Unknown
        return (self._values[word] == self._text()) is (sign == "==")

    def _text(self) -> str:
        kind, word = self._next()
        if kind != "text":
            raise _Unknown
        return word

    def _next(self) -> tuple[str, str]:
        if self.at_end:
            raise _Unknown
        self._at += 1
        return self._tokens[self._at - 1]

    def _takes(self, sign: str) -> bool:
        if self.at_end or self._tokens[self._at] != ("sign", sign):
            return False
        self._at += 1
        return True

    def _needs(self, sign: str) -> None:
        if not self._takes(sign):
            raise _Unknown
