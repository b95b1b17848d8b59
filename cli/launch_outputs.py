"""`launch outputs`: the files in a job's output folder, and copies of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bastion import layout
from bastion.buckets.outputs import File, Outputs
from bastion.buckets.routed import url_of
from bastion.recover import spec_of
from bastion.spec import JobSpec
from cli.desk import Desk, desk_of, job_of
from cli.main import DONE, Call
from cli.table import plain, table
from launcher.durations import short
from launcher.find import Found, one_task
from launcher.rows import rfc3339


def run(call: Call) -> int:
    """Print the files; with --fetch, copy them."""
    desk = desk_of(call)
    found = job_of(call, desk, desk.reader().look())
    outputs = Outputs(_url(desk, found))
    with call.output.progress(f"listing {outputs.url}"):
        files = outputs.files()
    if folder := call.flags["fetch"]:
        for number, file in enumerate(files, start=1):
            with call.output.progress(f"fetching {number} of {len(files)}: {file.name}"):
                outputs.fetch(file, Path(folder))
    _tell(call, desk, outputs.url, files)
    return DONE


def _url(desk: Desk, found: Found) -> str:
    """The folder that the job names, or the one in the bucket that its task has."""
    spec: JobSpec | None = found.unread.spec if found.unread else spec_of(desk.bucket, found.job) if found.job else None
    if spec and spec.output_dir:
        return spec.output_dir
    return f"{url_of(desk.bucket, layout.OUTPUTS)}/{layout.outputs(found.id, one_task(found))}"


def _tell(call: Call, desk: Desk, url: str, files: Sequence[File]) -> None:
    if call.output.json:
        rows = [
            {"name": f.name, "bytes": f.size, "modified": rfc3339(f.modified) if f.modified else None} for f in files
        ]
        call.output.data({"schema": 1, "url": url, "fetched": call.flags["fetch"] or None, "files": rows})
        return
    now = desk.clock.wall()
    ages = [short((now - f.modified).total_seconds()) if f.modified else "" for f in files]
    rows_ = [(str(f.size), age, f.name) for f, age in zip(files, ages, strict=True)]
    if files:
        lines = table(("BYTES", "AGE", "NAME"), rows_, right=frozenset({"BYTES", "AGE"}), width=call.output.width)
        call.output.say("\n".join(lines))
    where = f", fetched to {call.flags['fetch']}" if call.flags["fetch"] else ""
    call.output.note(f"{len(files)} files, {sum(f.size for f in files)} bytes in {plain(url)}{where}")
