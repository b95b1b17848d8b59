"""A folder for one measurement."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp


@contextmanager
def fresh_folder() -> Iterator[Path]:
    """An empty folder, gone afterwards, also if somebody still writes into it for a moment."""
    folder = Path(mkdtemp(prefix="bench"))
    try:
        yield folder
    finally:
        while folder.exists():
            shutil.rmtree(folder, ignore_errors=True)
