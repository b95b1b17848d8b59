"""`launch show`: all that is known of one job, with its spec."""

from __future__ import annotations

import json
from typing import Any

from bastion.holes import Holes
from bastion.spec import written_out
from cli.desk import desk_of, job_of
from cli.main import DONE, Call
from cli.table import plain
from launcher import gaps
from launcher.derive import derived
from launcher.gpus import gpus
from launcher.queue import Queue
from launcher.stored import stored_spec


def run(call: Call) -> int:
    """Print one row of `launch ls --json`, the spec, and the GPUs that it uses now."""
    desk = desk_of(call)
    view = desk.reader().look()
    found = job_of(call, desk, view)
    row = Queue(view, (), derived(view)).row(found.known)
    holes = Holes(list(view.holes))
    spec = stored_spec(desk.bucket, desk.tasks, found, holes)
    seen = gpus(desk.bucket, desk.tasks, found.job, found.task) if found.job else []
    shown = {"schema": 1, **row, "spec": written_out(spec) if spec else None}
    if call.output.json:
        call.output.data({**shown, "gpus": [gpu.row() for gpu in seen], **gaps.rows(holes.found)})
    else:
        lines = [*_page(shown), *(["gpus"] if seen else []), *(f"  {plain(gpu.line())}" for gpu in seen)]
        call.output.say("\n".join([*lines, *gaps.lines(holes.found)]))
    return DONE


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
    return value if isinstance(value, str) and value.isprintable() else json.dumps(value, ensure_ascii=False)
