"""Profiles and environment variables: values of flags that users do not type every day. Pure.

Profiles lie in one TOML file on the user's own machine. They are independent of the `config.toml` of a bucket:

    active = "work"

    [profiles.work]
    bucket = "gs://team"
    bastion = "team"
    project_id = "nlp"
    user_id = "alice"

The command line wins over the environment, and the environment over the active profile. In each of them, naming the
value itself wins over naming a profile: `--profile=home` is stronger than `BASTION_BUCKET`, and weaker than `--bucket`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bastion.model.errors import BastionError, UsageError
from bastion.model.job.spec import NAME as BASTION_NAME
from bastion.model.nearest import did_you_mean
from bastion.model.wording import shown
from bastion.quota import toml_reader
from bastion.quota.toml_reader import TomlLines

USUAL = ("bucket", "bastion", "project_id", "user_id")
KEYS = (*USUAL, "docker_repo")
"""Keys of a profile: the names of the flags that it sets. Keys outside `USUAL` are shown only where they are set."""

FILE_BYTES_MAX = 256 * 1024
NAME = re.compile(r"[A-Za-z0-9_-]{1,63}")
_NAME_RULE = "use 1 to 63 letters, digits, '_' and '-'"

VARIABLES = {
    "bucket": "BASTION_BUCKET",
    "bastion": "BASTION_NAME",
    "project_id": "BASTION_PROJECT",
    "user_id": "BASTION_USER",
    "docker_repo": "BASTION_DOCKER_REPO",
}
"""The environment variable of each flag. Inside a job, `BASTION_PROJECT` and `BASTION_USER` are those of the job."""

_EXAMPLES = {"bastion": "--bastion=NAME", "bucket": "--bucket=URL (file:///path, gs://name)"}


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
        raise BastionError(f"{where} is longer than {FILE_BYTES_MAX} bytes; make it shorter")
    try:
        table = toml_reader.loads(text)
    except toml_reader.TomlError as error:
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
                self._complain((*path, key), f"{shown(key)} is not a key {whose}; {guess}")

    def _complain(self, path: tuple[str, ...], what: str) -> None:
        self.complaints.append((self._lines.of(*path), what))


Chosen = Callable[[], Profile]
"""A function that returns the profile of this call. It is called only if needed, so that a broken file does no harm."""


@dataclass(frozen=True, slots=True)
class Setting:
    """The value of one flag, with its source.

    value: text of the flag.
    source: where it was set, in words: `--bucket`, `BASTION_BUCKET`, `profile work`.
    """

    value: str
    source: str


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings that every command needs.

    bastion: name of the bastion.
    bucket: URL of the bucket.
    """

    bastion: str
    bucket: str


def setting(key: str, flags: Mapping[str, Any], environ: Mapping[str, str], chosen: Chosen) -> Setting | None:
    """Return the value of a flag with its source; None if it is set nowhere."""
    if flags.get(key):
        return Setting(str(flags[key]), f"--{key}")
    if flags["profile"] and key in chosen().values:
        return _of(chosen(), key)
    if environ.get(VARIABLES[key]):
        return Setting(environ[VARIABLES[key]], VARIABLES[key])
    return _of(chosen(), key) if key in chosen().values else None


def settings(flags: Mapping[str, Any], environ: Mapping[str, str], chosen: Chosen) -> Settings:
    """Return the bastion and the bucket of this call. Raises `UsageError` that lists everything that is missing."""
    said = {key: found.value for key in _EXAMPLES if (found := setting(key, flags, environ, chosen))}
    if missing := [key for key in _EXAMPLES if key not in said]:
        raise UsageError(_unsaid(missing, chosen().name))
    if not BASTION_NAME.fullmatch(said["bastion"]) or ".." in said["bastion"]:
        name = shown(said["bastion"])
        raise UsageError(f"the bastion's name is {name}; use 1 to 63 letters, digits, '.', '_' and '-'")
    return Settings(**said)


def _unsaid(keys: Sequence[str], profile: str) -> str:
    """Return a message that explains how to set all of these keys."""
    what = " and no ".join(keys)
    use = f"use {', and '.join(f'{_EXAMPLES[key]} or set {VARIABLES[key]}' for key in keys)}"
    if profile:
        return f"profile {profile} names no {what}; complete it with bastion config add {profile}, or {use}"
    return f"no {what} is named; {use}, or make a profile with bastion config add"


def _of(profile: Profile, key: str) -> Setting:
    return Setting(profile.values[key], f"profile {profile.name}")
