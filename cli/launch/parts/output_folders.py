"""The output folder of an earlier job as that of a new one: whether it fits, and where the new job goes on."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from bastion.launcher.durations import short
from bastion.launcher.read.exit_codes import ended
from bastion.launcher.read.job_lookup import FoundJob
from bastion.model import layout
from bastion.model.errors import BastionError, UsageError
from bastion.model.job.spec import JobSpec
from bastion.stores.job_files import JobFile, JobFiles

from ...common.command_context import CommandContext
from ...terminal.main import Call

CHECKPOINTS = "checkpoints"


def check_shape(call: Call, spec: JobSpec, home: str) -> None:
    """Refuse a folder that holds the checkpoints of a job of the other shape: the new job would start from zero.

    A plain job looks in `checkpoints/` of its folder, task 3 of an array in `3/checkpoints/`. `home` is the URL that the
    bastion's outputs lie below. Only folders there and on this machine are looked into, by two list requests at most: another
    store may not answer from here, and nobody wants to wait for that. Raises `UsageError`.
    """
    folder = spec.output_dir.rstrip("/")
    if not (folder.startswith(f"{home}/") or _is_local(folder)):
        return
    try:
        with call.output.progress(f"looking into {folder}"):
            is_of_array, is_of_plain = _shapes(folder)
    except BastionError:
        return  # whoever may not list the folder from here may still have a job that can
    if spec.count == 1 and is_of_array and not is_of_plain:
        raise UsageError(
            f"{folder} is the folder of an array, and a plain job finds no checkpoint there; use "
            f"--output_dir={folder}/0 for that of task 0, or --count"
        )
    if spec.count > 1 and is_of_plain and not is_of_array:
        raise UsageError(
            f"{folder} is the folder of a plain job, and the tasks of an array find no checkpoint there; use another "
            "folder, or --count=1"
        )


def _shapes(folder: str) -> tuple[bool, bool]:
    """Whether there are folders of tasks, and whether there are checkpoints of a plain job."""
    names = JobFiles(folder).top()
    inside = JobFiles(f"{folder}/{CHECKPOINTS}").top() if CHECKPOINTS in names else set()
    by_task = bool(inside) and all(map(_is_number, inside))  # so lay those of an array once
    return by_task or any(map(_is_number, names)), bool(inside) and not by_task


def resumed(call: Call, desk: CommandContext, found: FoundJob, before: JobSpec, home: str) -> Mapping[str, Any]:
    """The folders of a job that goes on where `found` has ended: the same ones.

    `before` is the spec of that job, `home` the URL that default output folders lie below. Raises `UsageError` if the job
    has not ended, or if there is no checkpoint to go on from.
    """
    if "output_dir" in call.given:
        raise UsageError(f"--resume goes on in the output folder of {found.id}; leave out --output_dir, or --resume")
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
        age = f", saved {short((desk.clock.wall() - newest.modified).total_seconds())} ago" if newest.modified else ""
        call.output.note(f"goes on from {where}/{newest.name}{age}")
    else:
        call.output.note(f"goes on in {where}, which this machine cannot look into")
    return {"output_dir": output, "checkpoint_dir": before.checkpoint_dir}


def _newest(outputs: JobFiles, *, inside: bool) -> JobFile | None:
    """The newest checkpoint; where the folder is not one of checkpoints alone, only files of such folders count."""
    files = [file for file in outputs.files() if inside or f"/{CHECKPOINTS}/" in f"/{file.name}"]
    return max(files, key=lambda file: (file.modified.timestamp() if file.modified else 0.0, file.name), default=None)


def _is_number(name: str) -> bool:
    return re.fullmatch(r"0|[1-9][0-9]{0,5}", name) is not None


def _is_remote(folder: str) -> bool:
    return "://" in folder and not folder.startswith("file://")


def _is_local(folder: str) -> bool:
    """True for a folder of this machine."""
    return not _is_remote(folder) and os.path.isdir(folder.removeprefix("file://"))
