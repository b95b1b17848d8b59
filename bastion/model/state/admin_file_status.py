"""The quota file and the configuration, in the version that the journal recorded last. Pure."""

from __future__ import annotations

import msgspec


class AdminFileStatus(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One file of the admin's.

    version: the version that was read last; "" if there is no file.
    text: the last good text; None if there never was one. It stays in force.
    problem: what is wrong with the version that was read last; "" if nothing is.
    """

    version: str
    text: str | None = None
    problem: str = ""
