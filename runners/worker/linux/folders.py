"""The work folders on this machine. They are kept for a day after their last use, then removed."""

from __future__ import annotations

import shutil
from collections.abc import Collection
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

KEPT = timedelta(hours=24)
LEFT = "left"
"""The name of a mark in a folder whose output no bucket has: the folder stays until a person removes it."""


def sweep(root: Path, scope: str, live: Collection[Path], now: datetime) -> None:
    """Remove the folders of `scope` below `root` that were unchanged for `KEPT`, except the `live` ones."""
    for folder in root.glob(f"{scope}/*/*/*/*"):
        if folder.relative_to(root) not in live and now - _used(folder) > KEPT and not (folder / LEFT).exists():
            shutil.rmtree(folder, ignore_errors=True)
            _remove_empty(folder.parent, root)


def _used(folder: Path) -> datetime:
    times = [folder.stat().st_mtime]
    with suppress(OSError):
        times += [entry.stat().st_mtime for entry in folder.iterdir()]
    return datetime.fromtimestamp(max(times), UTC)


def _remove_empty(folder: Path, root: Path) -> None:
    with suppress(OSError):
        while folder != root:
            folder.rmdir()
            folder = folder.parent
