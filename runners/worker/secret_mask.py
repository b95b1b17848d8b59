"""Hides secrets in the output: every byte of a value becomes `*`, so that no byte of the log moves. Pure.

Whether a byte is hidden depends only on what stands around it in the output, never on how the output is cut: a reader
needs `reach` bytes more on either side, and leaves out what may still become a value.
"""

from __future__ import annotations

from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus

SHORTEST = 8
"""Shorter values, and lines of values, are not hidden: they would hide what is no secret."""

_STARS = bytes(byte if byte == ord("\n") else ord("*") for byte in range(256))


def is_short(value: str) -> bool:
    """True if this value is not hidden."""
    return len(value.encode("utf-8", "surrogateescape")) < SHORTEST


class Mask:
    """Hides these values, each line of those that have several, and what programs commonly make of a value."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        known = [value.encode("utf-8", "surrogateescape") for value in values]
        forms = (form for value in known for form in (value, *value.splitlines(), *_derived(value)))
        texts = {form for form in forms if len(form) >= SHORTEST}
        self._texts = {text: _period(text) for text in sorted(texts)}
        self.reach = max(map(len, texts), default=1) - 1

    def hidden(self, data: bytes) -> bytes:
        """The same bytes, with every whole value in them hidden."""
        out: bytearray | None = None
        for text, period in self._texts.items():
            start = 0
            while (at := data.find(text, start)) >= 0:
                end = at + len(text)
                while data[end : end + period] == text[-period:]:  # once more, into itself
                    end += period
                out = out or bytearray(data)
                out[at:end] = data[at:end].translate(_STARS)
                start = end - len(text) + 1
        return data if out is None else bytes(out)

    def held(self, data: bytes) -> int:
        """How many bytes at the end of `data` may be the beginning of a value."""
        return max((_overlap(data[-len(text) + 1 :], text) for text in self._texts), default=0)


def _derived(value: bytes) -> Iterator[bytes]:
    """The value as it stands in URLs and, by itself or within more, in base64."""
    if len(value) < SHORTEST:
        return
    yield from (quote(value, safe="").encode(), quote(value).encode(), quote_plus(value).encode())
    for encode in (b64encode, urlsafe_b64encode):
        yield encode(value)
        for before in range(3):  # bytes of something else in the first group of three
            whole = (before + len(value)) * 8 // 6
            yield encode(bytes(before) + value)[(before * 8 + 5) // 6 : whole]


class _Everything(Mask):
    """Hides all."""

    def hidden(self, data: bytes) -> bytes:
        return data.translate(_STARS)


EVERYTHING: Mask = _Everything()
"""For output of which nobody knows what has to be hidden in it."""


def _overlap(data: bytes, text: bytes) -> int:
    """The longest end of `data` that `text` begins with."""
    at = data.find(text[:1])
    while at >= 0:
        if text.startswith(data[at:]):
            return len(data) - at
        at = data.find(text[:1], at + 1)
    return 0


def _period(text: bytes) -> int:
    """The least distance at which `text` can stand twice, the second one into the first."""
    return len(text) - _overlap(text[1:], text)
