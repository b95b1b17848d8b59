"""The last line of an admin's file: the user who put it into the bucket, and the time. Pure.

The line is a comment in the same object. So it is replaced together with the text, and the journal holds it with the
text. Its digest covers the text above it. If somebody changes the text by other means, the line no longer fits, and no
user is named.
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
class AuditLine:
    """The user who claims to have put a text there.

    user: the user's name.
    at: when, by the user's own clock; for display.
    """

    user: str
    at: str


def sign(text: str, user: str, now: datetime) -> str:
    """Return the text with a new audit line in place of an older one.

    If `user` is not a valid user name, the text gets no audit line.
    """
    body, _ = split(text)
    if not USER.fullmatch(user):
        return body
    at = now.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return f"{body}# put here by {user} at {at} (sha256 {_digest(body)})\n"


def split(text: str) -> tuple[str, AuditLine | None]:
    """Return the text without its audit line, ending in a newline; and the audit line.

    The audit line is None if there is none, or if it does not fit the text.
    """
    body, newline, last = text.removesuffix("\n").rpartition("\n")
    found = _LINE.fullmatch(last)
    if not found:
        return (text if not text or text.endswith("\n") else f"{text}\n"), None
    body += newline
    fits = found["digest"] == _digest(body)
    return body, AuditLine(found["user"], found["at"]) if fits else None


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode("utf-8", "surrogatepass")).hexdigest()[:16]
