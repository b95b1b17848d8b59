"""Values of flags that the user did not type: from the environment, or from a profile. Pure.

The command line wins over the environment, and the environment over the active profile. In each of them, naming the
value itself wins over naming a profile: `--profile=home` is stronger than `BASTION_BUCKET`, and weaker than `--bucket`.
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
"""The environment variable of each flag. Inside a job, `BASTION_PROJECT` and `BASTION_USER` are those of the job."""

_EXAMPLES = {"bastion": "--bastion=NAME", "bucket": "--bucket=URL (file:///path, gs://name)"}

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
    if not NAME.fullmatch(said["bastion"]) or ".." in said["bastion"]:
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
