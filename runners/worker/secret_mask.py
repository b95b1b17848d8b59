"""A mask for secrets in the output: every byte of a value becomes `*`, so that no byte of the log moves. Pure.

Only the bytes around a byte in the output decide whether it is hidden, and not how the output is cut. So a reader needs
`reach` more bytes on either side, and leaves out an end that may still become a value.
"""

from __future__ import annotations

from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus

SHORTEST = 8
"""The least length in bytes of a value, or of a line of it, that is hidden: shorter ones would hide harmless text."""

_STARS = bytes(byte if byte == ord("\n") else ord("*") for byte in range(256))


def is_short(value: str) -> bool:
    """Return True if this value is too short to be hidden."""
    return len(value.encode("utf-8", "surrogateescape")) < SHORTEST


class Mask:
    """A mask for these values, for each line of those with several lines, and for common encodings of a value."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        known = [value.encode("utf-8", "surrogateescape") for value in values]
        forms = (form for value in known for form in (value, *value.splitlines(), *_derived(value)))
        texts = {form for form in forms if len(form) >= SHORTEST}
        self._texts = {text: _period(text) for text in sorted(texts)}
        self.reach = max(map(len, texts), default=1) - 1

    def hidden(self, data: bytes) -> bytes:
        """Return the same bytes, with every complete value in them hidden."""
        out: bytearray | None = None
        for text, period in self._texts.items():
            start = 0
            while (at := data.find(text, start)) >= 0:
                end = at + len(text)
                while data[end : end + period] == text[-period:]:  # the value again, overlapping itself
                    end += period
                out = out or bytearray(data)
                out[at:end] = data[at:end].translate(_STARS)
                start = end - len(text) + 1
        return data if out is None else bytes(out)

    def held(self, data: bytes) -> int:
        """Return how many bytes at the end of `data` may be the beginning of a value."""
        return max((_overlap(data[-len(text) + 1 :], text) for text in self._texts), default=0)


def _derived(value: bytes) -> Iterator[bytes]:
    """Yield the value as it appears in URLs and, alone or inside longer data, in base64."""
    if len(value) < SHORTEST:
        return
    yield from (quote(value, safe="").encode(), quote(value).encode(), quote_plus(value).encode())
    for encode in (b64encode, urlsafe_b64encode):
        yield encode(value)
        for before in range(3):  # other bytes before the value in its first group of three
            whole = (before + len(value)) * 8 // 6
            yield encode(bytes(before) + value)[(before * 8 + 5) // 6 : whole]


class _Everything(Mask):
    """A mask for all bytes."""

    def hidden(self, data: bytes) -> bytes:
        return data.translate(_STARS)


EVERYTHING: Mask = _Everything()
"""The mask for output whose secrets are unknown."""


def _overlap(data: bytes, text: bytes) -> int:
    """Return the length of the longest end of `data` that `text` begins with."""
    at = data.find(text[:1])
    while at >= 0:
        if text.startswith(data[at:]):
            return len(data) - at
        at = data.find(text[:1], at + 1)
    return 0


def _period(text: bytes) -> int:
    """Return the least distance at which a second copy of `text` can overlap the first."""
    return len(text) - _overlap(text[1:], text)
