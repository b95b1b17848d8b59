"""Cache the names of recent jobs for shell completion, in one file for each bastion.

The completion scripts read the file without this program. A file that cannot be written is not an error.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from bastion.launcher.read.view import View
from bastion.model.job.spec import NAME
from bastion.platform.local_paths import cache_folder, mark

from ...common.command_context import CommandContext, user_of
from ...terminal.flags import Options
from ...terminal.main import Call

NAMES_MAX = 1_000


def seen(call: Call[Options], context: CommandContext, view: View) -> None:
    """Store the names of the user's jobs, in place of all stored before."""
    _keep(_path(call, context), _names(view, user_of(call)))


def submitted(call: Call[Options], context: CommandContext, name: str) -> None:
    """Add this name to the stored ones."""
    path, known = _path(call, context), list[str]()
    with contextlib.suppress(OSError, UnicodeDecodeError):
        known = path.read_text().splitlines()
    _keep(path, [name, *known])


def _path(call: Call[Options], context: CommandContext) -> Path:
    return cache_folder(call.environ) / "jobs" / mark(context.bastion, context.bucket.url)


def _names(view: View, user: str) -> Iterator[str]:
    """List the user's jobs, the newest first, ended ones too."""
    yield from (found.spec.name for found in view.unread if found.spec.user == user)
    yield from (job.name for job in reversed(view.state.jobs.values()) if job.user == user)


def _keep(path: Path, names: Iterable[str]) -> None:
    """Write one name a line. Text that is not a job name is left out, because the shell would take it as a word."""
    lines = islice(dict.fromkeys(name for name in names if NAME.fullmatch(name)), NAMES_MAX)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Not in the folder of names: completion scripts read every file there.
        number, half = tempfile.mkstemp(dir=path.parent.parent)
        with os.fdopen(number, "w") as file:
            file.writelines(f"{name}\n" for name in lines)
        os.replace(half, path)
