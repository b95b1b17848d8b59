"""What a call goes by where it has no default of its own: flags, the environment, a profile. Pure.

What stands on the command line wins, then the environment, then the active profile; and of each, what names the thing
itself wins over what names a profile. So `--profile=home` is stronger than `BASTION_BUCKET`, and weaker than `--bucket`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bastion.model.errors import UsageError
from bastion.model.job.spec import NAME
from bastion.model.wording import shown

from .profiles import Profile

VARIABLES = {
    "bucket": "BASTION_BUCKET",
    "bastion": "BASTION_NAME",
    "project_id": "BASTION_PROJECT",
    "user_id": "BASTION_USER",
    "docker_repo": "BASTION_DOCKER_REPO",
}
"""The variable that stands for each flag. In a job's own environment the last two name the job's."""

_EXAMPLES = {"bastion": "--bastion=NAME", "bucket": "--bucket=URL (file:///path, gs://name)"}

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
    """Where the call points. Raises `UsageError` that names all of it that nobody says."""
    said = {key: found.value for key in _EXAMPLES if (found := setting(key, flags, environ, chosen))}
    if missing := [key for key in _EXAMPLES if key not in said]:
        raise UsageError(_unsaid(missing, chosen().name))
    if not NAME.fullmatch(said["bastion"]) or ".." in said["bastion"]:
        name = shown(said["bastion"])
        raise UsageError(f"the bastion's name is {name}; use 1 to 63 letters, digits, '.', '_' and '-'")
    return Settings(**said)


def _unsaid(keys: Sequence[str], profile: str) -> str:
    """How to say all of this."""
    what = " and no ".join(keys)
    use = f"use {', and '.join(f'{_EXAMPLES[key]} or set {VARIABLES[key]}' for key in keys)}"
    if profile:
        return f"profile {profile} names no {what}; complete it with bastion config add {profile}, or {use}"
    return f"no {what} is named; {use}, or make a profile with bastion config add"


def _of(profile: Profile, key: str) -> Setting:
    return Setting(profile.values[key], f"profile {profile.name}")
