"""Profiles: named sets of values for flags, so that users do not type them every day. Pure.

They lie in one TOML file on the user's own machine. They are independent of the `config.toml` of a bucket:

    active = "work"

    [profiles.work]
    bucket = "gs://team"
    bastion = "team"
    project_id = "nlp"
    user_id = "alice"
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bastion.model.errors import BastionError
from bastion.model.nearest import did_you_mean
from bastion.model.wording import shown
from bastion.quota import toml_reader
from bastion.quota.toml_lines import TomlLines

USUAL = ("bucket", "bastion", "project_id", "user_id")
KEYS = (*USUAL, "docker_repo")
"""Keys of a profile: the names of the flags that it sets. Keys outside `USUAL` are shown only where they are set."""

FILE_BYTES_MAX = 256 * 1024
NAME = re.compile(r"[A-Za-z0-9_-]{1,63}")
_NAME_RULE = "use 1 to 63 letters, digits, '_' and '-'"


@dataclass(frozen=True, slots=True)
class Profile:
    """One profile.

    name: its name; empty: no profile is in use.
    values: text of each flag that the profile sets, by the flag's name.
    """

    name: str = ""
    values: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profiles:
    """The profiles of one file.

    where: path of the file, for messages.
    active: name of the active profile; empty: none.
    named: profiles by name.
    """

    where: str
    active: str = ""
    named: Mapping[str, Profile] = field(default_factory=dict)

    def get(self, name: str, said_by: str) -> Profile:
        """Return the profile of this name. `said_by` is the source of the name.

        Raises `BastionError` with the nearest name.
        """
        if name not in self.named:
            known = ", ".join(sorted(self.named)[:20])
            otherwise = f"there are {known}" if known else "make one with bastion config add"
            guess = did_you_mean(name, self.named, otherwise)
            raise BastionError(f"{said_by} names the profile {shown(name)}, which {self.where} does not have; {guess}")
        return self.named[name]


def checked_name(name: str) -> str:
    """Return the name if a profile may have it. Raises `BastionError` otherwise."""
    if not NAME.fullmatch(name):
        raise BastionError(f"the profile's name is {shown(name)}; {_NAME_RULE}")
    return name


def parse(text: str, where: str) -> Profiles:
    """Parse the text of the file `where`. Raises `BastionError` with every complaint and its line."""
    if len(text) > FILE_BYTES_MAX:
        raise BastionError(f"{where} is longer than {FILE_BYTES_MAX}; profiles take less")
    try:
        table = toml_reader.loads(text)
    except toml_reader.NotToml as error:
        raise BastionError(f"{where}:{error.line}: not TOML: {error.what}") from error
    reader = _Reader(TomlLines(text))
    found = reader.profiles(table, where)
    if reader.complaints:
        raise BastionError("; ".join(f"{where}:{line}: {what}" for line, what in sorted(reader.complaints)))
    return found


class _Reader:
    """Convert a parsed TOML table into profiles, and collect complaints on the way."""

    def __init__(self, lines: TomlLines) -> None:
        self._lines = lines
        self.complaints: list[tuple[int, str]] = []

    def profiles(self, table: Mapping[str, Any], where: str) -> Profiles:
        """Return the profiles of the table. They are valid only if there are no complaints."""
        self._known((), table, ("active", "profiles"), "of the file of profiles")
        rows = self._table(("profiles",), table.get("profiles", {}))
        named = {name: Profile(name, self._profile(name, row)) for name, row in rows.items()}
        active = table.get("active", "")
        if not isinstance(active, str):
            self._complain(("active",), f"active is {shown(active)}; use the name of a profile, in quotes")
        return Profiles(where=where, active=active if isinstance(active, str) else "", named=named)

    def _profile(self, name: str, row: Any) -> dict[str, str]:
        path = ("profiles", name)
        if not NAME.fullmatch(name):
            self._complain(path, f"a profile is named {shown(name)}; {_NAME_RULE}")
            return {}
        values = self._table(path, row)
        self._known(path, values, KEYS, "of a profile")
        for key, value in values.items():
            if key in KEYS and not (isinstance(value, str) and value and value.isprintable()):
                self._complain((*path, key), f"{key} is {shown(value)}; use a text in quotes")
        return {key: str(value) for key, value in values.items()}

    def _table(self, path: tuple[str, ...], found: Any) -> Mapping[str, Any]:
        if isinstance(found, dict):
            return found
        self._complain(path, f"{path[-1]} is {shown(found)}; use a table")
        return {}

    def _known(self, path: tuple[str, ...], row: Mapping[str, Any], known: tuple[str, ...], whose: str) -> None:
        for key in row:
            if key not in known:
                guess = did_you_mean(key, known, f"use {', '.join(known)}")
                self._complain((*path, key), f"{shown(key)} is no key {whose}; {guess}")

    def _complain(self, path: tuple[str, ...], what: str) -> None:
        self.complaints.append((self._lines.of(*path), what))
