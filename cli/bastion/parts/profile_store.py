"""Change the file of this account's profiles, or of the machine's, and leave all else in it as it is."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from bastion.launcher.submit.profiles import Profiles, parse

from ...common.place import profiles_path, profiles_path_for_all, profiles_text
from ...terminal.toml_edit import Change, amended


def store(environ: Mapping[str, str], change: Change) -> Profiles:
    """Change values in this account's file, and nothing else in it.

    Return the profiles afterwards. Raises `BastionError`.
    """
    return _change(profiles_path(environ), change, folder=0o700, file=0o600)


def store_for_all(environ: Mapping[str, str], change: Change) -> Profiles:
    """Change values in the machine's file, which everybody may read. Return its profiles. Raises `BastionError`."""
    return _change(profiles_path_for_all(environ), change, folder=0o755, file=0o644)


def _change(path: Path, change: Change, *, folder: int, file: int) -> Profiles:
    before = profiles_text(path)
    parse(before, str(path))  # refuse to change a file that is broken already
    text = amended(before, change)
    found = parse(text, str(path))
    path.parent.mkdir(parents=True, exist_ok=True, mode=folder)
    _replace(path, text, file)
    return found


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
