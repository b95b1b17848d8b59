"""What a call goes by: its flags, the environment, and the profile, from the one file of this account."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from bastion.errors import BastionError
from cli.here import config_folder
from cli.main import Call
from cli.toml_edit import Change, amended
from launcher import settings
from launcher.profiles import FILE_BYTES_MAX, Profile, Profiles, parse
from launcher.settings import Setting, Settings


def path_of(environ: Mapping[str, str]) -> Path:
    """The file of profiles."""
    return config_folder(environ) / "config.toml"


def load(environ: Mapping[str, str]) -> Profiles:
    """All profiles; none if there is no file. Raises `BastionError` if the file cannot be used."""
    path = path_of(environ)
    return parse(_text(path), str(path))


def chosen(call: Call) -> Profile:
    """The profile that the call goes by; one without a name if there is none. Raises `BastionError`."""
    profiles = load(call.environ)
    if name := call.flags["profile"]:
        return profiles.get(name, "--profile")
    if name := call.environ.get("BASTION_PROFILE"):
        return profiles.get(name, "BASTION_PROFILE")
    return profiles.get(profiles.active, "active") if profiles.active else Profile()


def setting_of(call: Call, key: str) -> Setting | None:
    """What the call goes by for this flag, and who says so; None if nobody does."""
    return settings.setting(key, call.flags, call.environ, lambda: chosen(call))


def settings_of(call: Call) -> Settings:
    """Where the call points. Raises `UsageError` if nobody says it."""
    return settings.settings(call.flags, call.environ, lambda: chosen(call))


def store(environ: Mapping[str, str], change: Change) -> Profiles:
    """Change values in the file, and nothing else of it. The profiles as they are now. Raises `BastionError`."""
    path = path_of(environ)
    before = _text(path)
    parse(before, str(path))
    text = amended(before, change)
    found = parse(text, str(path))
    _replace(path, text)
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


def _replace(path: Path, text: str) -> None:
    """The whole file at once, for this account only. One that is a link stays one: its target is replaced."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    target = Path(os.path.realpath(path))
    number, half = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(half, target)
    except BaseException:
        os.unlink(half)
        raise
