"""Find the settings of a call in its flags, the environment and the profiles of this account and this machine."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from bastion.launcher.submit import flag_defaults
from bastion.launcher.submit.flag_defaults import Setting, Settings
from bastion.launcher.submit.profiles import FILE_BYTES_MAX, Profile, Profiles, parse
from bastion.model.errors import BastionError
from bastion.platform.local_paths import config_folder

from ..terminal.flags import Options
from ..terminal.main import Call
from ..terminal.toml_edit import Change, amended


def path_of(environ: Mapping[str, str]) -> Path:
    """Return the path of this account's profiles."""
    return config_folder(environ) / "config.toml"


def path_for_all(environ: Mapping[str, str]) -> Path:
    """Return the path of the profiles for all accounts of this machine. Root writes this file."""
    folders = environ.get("XDG_CONFIG_DIRS", "").split(os.pathsep)
    return Path(next(filter(os.path.isabs, folders), "/etc/xdg")) / "bastion" / "config.toml"


def load(environ: Mapping[str, str]) -> Profiles:
    """Load all profiles. This account's win over the machine's. Without a file, there are none.

    Raises `BastionError` if a file cannot be used.
    """
    path = path_of(environ)
    own, others = parse(_text(path), str(path)), for_all(environ)
    return Profiles(where=own.where, active=own.active or others.active, named={**others.named, **own.named})


def for_all(environ: Mapping[str, str]) -> Profiles:
    """Load the profiles of the machine. Raises `BastionError` if the file cannot be used."""
    path = path_for_all(environ)
    return parse(_text(path), str(path))


def chosen(call: Call[Options]) -> Profile:
    """Return the profile of the call; one without a name if there is none. Raises `BastionError`."""
    profiles = load(call.environ)
    if name := call.options.profile:
        return profiles.get(name, "--profile")
    if name := call.environ.get("BASTION_PROFILE"):
        return profiles.get(name, "BASTION_PROFILE")
    return profiles.get(profiles.active, "active") if profiles.active else Profile()


def setting_of(call: Call[Options], key: str) -> Setting | None:
    """Return the value for this flag and its source; None if nothing sets it."""
    return flag_defaults.setting(key, call.options.values, call.environ, lambda: chosen(call))


def settings_of(call: Call[Options]) -> Settings:
    """Return the bastion and the bucket of the call. Raises `UsageError` if one of them is not set."""
    return flag_defaults.settings(call.options.values, call.environ, lambda: chosen(call))


def store(environ: Mapping[str, str], change: Change) -> Profiles:
    """Change values in this account's file, and nothing else in it.

    Return the profiles afterwards. Raises `BastionError`.
    """
    return _change(path_of(environ), change, folder=0o700, file=0o600)


def store_for_all(environ: Mapping[str, str], change: Change) -> Profiles:
    """Change values in the machine's file, which everybody may read. Return its profiles. Raises `BastionError`."""
    return _change(path_for_all(environ), change, folder=0o755, file=0o644)


def _change(path: Path, change: Change, *, folder: int, file: int) -> Profiles:
    before = _text(path)
    parse(before, str(path))  # refuse to change a file that is broken already
    text = amended(before, change)
    found = parse(text, str(path))
    path.parent.mkdir(parents=True, exist_ok=True, mode=folder)
    _replace(path, text, file)
    return found


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(FILE_BYTES_MAX + 1).decode()
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        raise BastionError(f"{path} is not UTF-8; save it as UTF-8") from error
    except OSError as error:
        raise BastionError(
            f"{path} cannot be read: {error.strerror}; see to its rights, or say it all by flags"
        ) from error


def _replace(path: Path, text: str, mode: int) -> None:
    """Replace the whole file at once. A symbolic link stays one: its target is replaced."""
    target = Path(os.path.realpath(path))
    number, half = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fchmod(number, mode)
            os.fsync(file.fileno())
        os.replace(half, target)
    except BaseException:  # Ctrl-C, too, must leave no half-written file
        os.unlink(half)
        raise
