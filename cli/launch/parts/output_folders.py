"""Reuse the output folder of an earlier job: check that it fits, and find the checkpoint to go on from."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from bastion.launcher.read.exit_codes import ended
from bastion.launcher.read.job_lookup import FoundJob
from bastion.model import layout
from bastion.model.durations import short
from bastion.model.errors import BastionError, UsageError
from bastion.model.job.spec import JobSpec
from bastion.stores.job_files import JobFile, JobFiles

from ...common.command_context import CommandContext
from ...terminal.flags import Options
from ...terminal.main import Call

CHECKPOINTS = "checkpoints"


def check_shape(call: Call[Options], spec: JobSpec, home: str) -> None:
    """Refuse a folder with the checkpoints of a job of the other shape: the new job would start from zero.

    A plain job looks in `checkpoints/` of its folder, task 3 of an array in `3/checkpoints/`. `home` is the URL above
    the bastion's outputs. Only folders there and on this machine are checked, with at most two list requests: another
    store may not answer from here, and the user should not wait for that. Raises `UsageError`.
    """
    folder = spec.output_dir.rstrip("/")
    if not (folder.startswith(f"{home}/") or _is_local(folder)):
        return
    try:
        with call.output.progress(f"looking into {folder}"):
            is_of_array, is_of_plain = _shapes(folder)
    except BastionError:
        return  # the job may have the right to list this folder, even if this user has not
    if spec.count == 1 and is_of_array and not is_of_plain:
        raise UsageError(
            f"{folder} is the folder of an array, where a plain job finds no checkpoint; use "
            f"--output_dir={folder}/0 for the folder of task 0, or --count"
        )
    if spec.count > 1 and is_of_plain and not is_of_array:
        raise UsageError(
            f"{folder} is the folder of a plain job, where the tasks of an array find no checkpoint; use another "
            "folder, or --count=1"
        )


def _shapes(folder: str) -> tuple[bool, bool]:
    """Return whether there are folders of tasks, and whether there are checkpoints of a plain job."""
    names = JobFiles(folder).top()
    inside = JobFiles(f"{folder}/{CHECKPOINTS}").top() if CHECKPOINTS in names else set()
    by_task = bool(inside) and all(map(_is_number, inside))  # the former layout of an array's checkpoints
    return by_task or any(map(_is_number, names)), bool(inside) and not by_task


def resumed(
    call: Call[Options], context: CommandContext, found: FoundJob, before: JobSpec, home: str
) -> Mapping[str, Any]:
    """Return the folders of a job that goes on where `found` ended: the same ones.

    `before` is the spec of that job, `home` the URL above the default output folders. Raises `UsageError` if the job
    has not ended, or if there is no checkpoint to go on from.
    """
    if "output_dir" in call.given:
        raise UsageError(f"--resume uses the output folder of {found.id}; leave out --output_dir, or --resume")
    if found.job is None or not ended(found.job, None):
        raise UsageError(
            f"{found.id} has not ended, and two jobs must not write the same checkpoints; launch stop {found.id} first"
        )
    own = f"{layout.OUTPUTS}{found.id}" if before.count > 1 else layout.outputs(found.id, 0)
    output = before.output_dir.rstrip("/") or f"{home}/{own}"
    where = before.checkpoint_dir or output
    if _is_remote(where) or where.startswith(f"{home}/") or _is_local(where):
        newest = _newest(JobFiles(where), inside=bool(before.checkpoint_dir))
        if newest is None:
            raise UsageError(f"{found.id} left no checkpoint in {where}; launch rerun {found.id} starts from zero")
        age = (
            f", saved {short((context.clock.wall() - newest.modified).total_seconds())} ago" if newest.modified else ""
        )
        call.output.note(f"continues from {where}/{newest.name}{age}")
    else:
        call.output.note(f"continues in {where}, which this machine cannot read")
    return {"output_dir": output, "checkpoint_dir": before.checkpoint_dir}


def _newest(outputs: JobFiles, *, inside: bool) -> JobFile | None:
    """Return the newest checkpoint. Unless `inside`, only files in folders named `checkpoints` count."""
    files = [file for file in outputs.files() if inside or f"/{CHECKPOINTS}/" in f"/{file.name}"]
    return max(files, key=lambda file: (file.modified.timestamp() if file.modified else 0.0, file.name), default=None)


def _is_number(name: str) -> bool:
    return re.fullmatch(r"0|[1-9][0-9]{0,5}", name) is not None


def _is_remote(folder: str) -> bool:
    return "://" in folder and not folder.startswith("file://")


def _is_local(folder: str) -> bool:
    """Return True for a folder of this machine."""
    return not _is_remote(folder) and os.path.isdir(folder.removeprefix("file://"))
