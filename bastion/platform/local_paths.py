"""Local paths: our folders by the XDG rules, on every system, and the name of a bastion on this machine."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from ..model.errors import UsageError

SECRETS = "BASTION_SECRETS"


def state_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder of this account for the output of bastions in the background.

    It also has the work folders of local jobs.
    """
    return _folder(environ, "XDG_STATE_HOME", ".local/state")


def work_folder(environ: Mapping[str, str], *, others: bool) -> Path:
    """Return the folder in which local jobs work.

    `others`: jobs run under other accounts, so it must be a folder that accounts other than root can reach.
    """
    if others and not os.path.isabs(environ.get("XDG_STATE_HOME", "")):
        return Path("/var/lib/bastion/work")  # other accounts cannot reach into root's home
    return state_folder(environ) / "work"


def data_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder for the bucket of a bastion that was created without one."""
    return _folder(environ, "XDG_DATA_HOME", ".local/share")


def config_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder for this account's profiles."""
    return _folder(environ, "XDG_CONFIG_HOME", ".config")


def cache_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder for files that can be fetched or made again."""
    return _folder(environ, "XDG_CACHE_HOME", ".cache")


def secrets_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder for the secrets of jobs: that of BASTION_SECRETS, else root's or this account's.

    Raises `UsageError` if BASTION_SECRETS is no absolute path.
    """
    if said := environ.get(SECRETS, ""):
        if not os.path.isabs(said):
            raise UsageError(f"{SECRETS} is {said[:200]!r}; use the absolute path of a folder")
        return Path(said)
    return Path("/etc/bastion/secrets") if os.geteuid() == 0 else config_folder(environ) / "secrets"


def _folder(environ: Mapping[str, str], variable: str, usual: str) -> Path:
    base = environ.get(variable, "")
    return (Path(base) if os.path.isabs(base) else Path.home() / usual) / "bastion"


def mark(name: str, url: str) -> str:
    """Return one word for the bastion of this name in the bucket part of this URL. It is the same at every start."""
    return f"{name}-{hashlib.sha256(url.encode()).hexdigest()[:8]}"


def log_file(name: str, url: str, environ: Mapping[str, str]) -> Path:
    """Return the file that a bastion in the background writes to."""
    return state_folder(environ) / f"{mark(name, url)}.log"
