"""`launch show`: all that is known of one job, with its spec."""

from __future__ import annotations

import json
from typing import Any

from bastion.codec import encode
from bastion.errors import RecordError
from bastion.ports import Bucket
from bastion.recover import spec_of
from bastion.spec import JobSpec
from cli.desk import desk_of, job_of
from cli.main import DONE, Call
from launcher.derive import derived
from launcher.find import Found
from launcher.gpus import gpus
from launcher.queue import Queue


def run(call: Call) -> int:
    """Print one row of `launch ls --json`, the spec, and the GPUs that it uses now."""
    desk = desk_of(call)
    view = desk.reader().look()
    found = job_of(call, view)
    row = Queue(view, (), derived(view)).row(found.known)
    spec = _spec(desk.bucket, found)
    seen = gpus(desk.bucket, desk.tasks, found.job, found.task) if found.job else []
    shown = {"schema": 1, **row, "spec": json.loads(encode(spec)) if spec else None}
    if call.output.json:
        call.output.data({**shown, "gpus": [gpu.row() for gpu in seen]})
    else:
        call.output.say("\n".join([*_page(shown), *(["gpus"] if seen else []), *(f"  {gpu.line()}" for gpu in seen)]))
    return DONE


def _spec(bucket: Bucket, found: Found) -> JobSpec | None:
    """The job's spec; None for one that was rejected, whose spec is not kept."""
    if found.unread:
        return found.unread.spec
    try:
        return spec_of(bucket, found.job) if found.job else None
    except RecordError:
        return None


def _page(shown: dict[str, Any]) -> list[str]:
    """One line for each field, those of the spec indented."""
    lines = []
    for name, value in shown.items():
        if isinstance(value, dict) and name == "spec":
            lines += ["spec", *(f"  {field:<18}{_text(part)}" for field, part in value.items())]
        elif name == "attempts":
            lines += ["attempts", *(f"  {_text(attempt)}" for attempt in value)]
        else:
            lines.append(f"{name:<20}{_text(value)}")
    return lines


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
