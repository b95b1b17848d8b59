"""The last line of an admin's file: who put it into the bucket, and when. Pure.

It is a comment in the same object, so that it is replaced together with the text, and is in the journal with it. The
digest is of the text above: who changes that by other means leaves a byline that does not fit, and then nobody is named.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import UTC, datetime

from .spec import USER

_LINE = re.compile(
    r"# put here by (?P<user>\S{1,64}) at (?P<at>[0-9T:.Z+-]{1,40}) \(sha256 (?P<digest>[0-9a-f]{16})\)\n?"
)


@dataclass(frozen=True, slots=True)
class Byline:
    """Who says to have put a text there. `at` is by their own clock: for display."""

    user: str
    at: str


def sign(text: str, user: str, now: datetime) -> str:
    """The text with its byline in the place of an older one. A user who could not be one is not named."""
    body, _ = split(text)
    if not USER.fullmatch(user):
        return body
    at = now.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return f"{body}# put here by {user} at {at} (sha256 {_digest(body)})\n"


def split(text: str) -> tuple[str, Byline | None]:
    """The text without its byline, ending in a line's end; and the byline, if it fits the text."""
    body, newline, last = text.removesuffix("\n").rpartition("\n")
    found = _LINE.fullmatch(last)
    if not found:
        return (text if not text or text.endswith("\n") else f"{text}\n"), None
    body += newline
    fits = found["digest"] == _digest(body)
    return body, Byline(found["user"], found["at"]) if fits else None


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode("utf-8", "surrogatepass")).hexdigest()[:16]
