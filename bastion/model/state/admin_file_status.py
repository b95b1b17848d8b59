"""The quota file and the configuration, as the journal last heard of them. Pure."""

from __future__ import annotations

import msgspec


class File(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file of the admin's. `text` is the last good one, None if there never was one; `problem` says what is wrong."""

    version: str
    text: str | None = None
    problem: str = ""
