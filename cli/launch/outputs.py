"""`launch outputs`: list, copy or remove the files in a job's output folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bastion.journal.recover import spec_of
from bastion.launcher.read.exit_codes import ended
from bastion.launcher.read.job_lookup import FoundJob, one_task
from bastion.launcher.read.job_rows import rfc3339
from bastion.model import layout
from bastion.model.durations import short
from bastion.model.errors import Forbidden, UsageError
from bastion.model.job.spec import JobSpec
from bastion.stores.job_files import JobFile, JobFiles
from bastion.stores.routed import url_of

from ..common.command_context import CommandContext, context_of, user_of
from ..common.job_choice import job_of
from ..options.launch import OutputsOptions
from ..terminal.confirm import agree
from ..terminal.main import DONE, Call
from ..terminal.table import plain, table


def run(call: Call[OutputsOptions]) -> int:
    """Print the files. With --fetch, copy them; with --delete, remove them."""
    if call.options.fetch and call.options.delete:
        raise UsageError("--fetch and --delete exclude each other; fetch first, check the files, then delete")
    context = context_of(call)
    found = job_of(call, context, context.reader().look())
    outputs = JobFiles(_url(context, found))
    with call.output.progress(f"listing {outputs.url}"):
        files = outputs.files()
    if call.options.delete:
        return _delete(call, context, found, outputs, files)
    if folder := call.options.fetch:
        for number, file in enumerate(files, start=1):
            with call.output.progress(f"fetching {number} of {len(files)}: {file.name}"):
                outputs.fetch(file, Path(folder))
    _tell(call, context, outputs.url, files)
    return DONE


def _url(context: CommandContext, found: FoundJob) -> str:
    """Return the folder that the job names, or else its task's folder in the bucket."""
    spec: JobSpec | None = (
        found.unread.spec if found.unread else spec_of(context.bucket, found.job) if found.job else None
    )
    if spec and spec.output_dir:
        return spec.output_dir
    return f"{url_of(context.bucket, layout.OUTPUTS)}/{layout.outputs(found.id, one_task(found))}"


def _delete(
    call: Call[OutputsOptions], context: CommandContext, found: FoundJob, outputs: JobFiles, files: Sequence[JobFile]
) -> int:
    """Remove the files of a job that has ended, and print their number and size.

    Only the job's user or an admin may do this. Raises `Forbidden`, or `UsageError` if a job may still write there.
    """
    user = user_of(call)
    if user != found.user and user not in context.settings.admins:
        raise Forbidden(f"{found.id} and its outputs belong to {found.user}; ask {found.user} or an admin")
    if found.job is None or not ended(found.job, None):
        raise UsageError(f"{found.id} has not ended and may still write to {outputs.url}; launch stop {found.id} first")
    if user_of_folder := _in_use(context, outputs.url):
        raise UsageError(f"{user_of_folder} has not ended and uses {outputs.url}; launch stop {user_of_folder} first")
    size = sum(file.size for file in files)
    if files:
        agree(call, f"remove {len(files)} files, {size} bytes, from {plain(outputs.url)}?")
    with call.output.progress(f"removing {len(files)} files"):
        outputs.delete(files)
    if call.output.json:
        call.output.data({"schema": 1, "url": outputs.url, "deleted": len(files), "bytes": size})
    else:
        call.output.note(f"removed {len(files)} files, {size} bytes, from {plain(outputs.url)}")
    return DONE


def _in_use(context: CommandContext, url: str) -> str:
    """Return the id of a job that has not ended and uses this folder; "" if there is none.

    Its own folder may be this one, one around it, or one in it.
    """
    jobs = [job for job in context.reader().look().state.jobs.values() if job.ended is None]
    for job, spec in zip(jobs, context.tasks.map(lambda job: spec_of(context.bucket, job), jobs), strict=True):
        if isinstance(spec, Exception):
            raise spec
        folders = (folder.rstrip("/") for folder in (spec.output_dir, spec.checkpoint_dir) if folder)
        if any(f"{url}/".startswith(f"{folder}/") or f"{folder}/".startswith(f"{url}/") for folder in folders):
            return str(job.id)
    return ""


def _tell(call: Call[OutputsOptions], context: CommandContext, url: str, files: Sequence[JobFile]) -> None:
    if call.output.json:
        rows = [
            {"name": f.name, "bytes": f.size, "modified": rfc3339(f.modified) if f.modified else None} for f in files
        ]
        call.output.data({"schema": 1, "url": url, "fetched": call.options.fetch or None, "files": rows})
        return
    now = context.clock.wall()
    ages = [short((now - f.modified).total_seconds()) if f.modified else "" for f in files]
    rows_ = [(str(f.size), age, f.name) for f, age in zip(files, ages, strict=True)]
    if files:
        lines = table(("BYTES", "AGE", "NAME"), rows_, right=frozenset({"BYTES", "AGE"}), width=call.output.width)
        call.output.say("\n".join(lines))
    where = f", fetched to {call.options.fetch}" if call.options.fetch else ""
    call.output.note(f"{len(files)} files, {sum(f.size for f in files)} bytes in {plain(url)}{where}")
