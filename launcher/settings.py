"""What a call goes by where it has no default of its own: flags, the environment, a profile. Pure.

What stands on the command line wins, then the environment, then the active profile; and of each, what names the thing
itself wins over what names a profile. So `--profile=home` is stronger than `BASTION_BUCKET`, and weaker than `--bucket`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bastion.errors import UsageError
from bastion.spec import NAME
from bastion.wording import shown
from launcher.profiles import Profile

VARIABLES = {
    "bucket": "BASTION_BUCKET",
    "bastion": "BASTION_NAME",
    "project_id": "BASTION_PROJECT",
    "user_id": "BASTION_USER",
}
"""The variable that stands for each flag. In a job's own environment the last two name the job's."""

_EXAMPLES = {"bucket": "--bucket=URL (file:///path, gs://name)", "bastion": "--bastion=NAME"}

Chosen = Callable[[], Profile]
"""The profile that the call goes by; asked only if needed, so that a broken file is in nobody's way."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A value, and who said it, as people call it: `--bucket`, `BASTION_BUCKET`, `profile work`."""

    value: str
    source: str


@dataclass(frozen=True, slots=True)
class Settings:
    """What every command needs to know."""

    bastion: str
    bucket: str


def setting(key: str, flags: Mapping[str, Any], environ: Mapping[str, str], chosen: Chosen) -> Setting | None:
    """Who says what this flag is; None if nobody does."""
    if flags.get(key):
        return Setting(str(flags[key]), f"--{key}")
    if flags["profile"] and key in chosen().values:
        return _of(chosen(), key)
    if environ.get(VARIABLES[key]):
        return Setting(environ[VARIABLES[key]], VARIABLES[key])
    return _of(chosen(), key) if key in chosen().values else None


def settings(flags: Mapping[str, Any], environ: Mapping[str, str], chosen: Chosen) -> Settings:
    """Where the call points. Raises `UsageError` if nobody says it."""
    bastion = _needed("bastion", flags, environ, chosen)
    bucket = _needed("bucket", flags, environ, chosen)
    if not NAME.fullmatch(bastion) or ".." in bastion:
        raise UsageError(f"the bastion's name is {shown(bastion)}; use 1 to 63 letters, digits, '.', '_' and '-'")
    return Settings(bastion, bucket)


def _needed(key: str, flags: Mapping[str, Any], environ: Mapping[str, str], chosen: Chosen) -> str:
    found = setting(key, flags, environ, chosen)
    if found:
        return found.value
    use = f"use {_EXAMPLES[key]} or set {VARIABLES[key]}"
    if name := chosen().name:
        raise UsageError(f"profile {name} names no {key}; complete it with bastion config add {name}, or {use}")
    raise UsageError(f"no {key} is named; {use}, or make a profile with bastion config add")


def _of(profile: Profile, key: str) -> Setting:
    return Setting(profile.values[key], f"profile {profile.name}")
