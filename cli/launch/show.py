"""`launch show`: print everything about one job, with its spec."""

from __future__ import annotations

import json
from typing import Any

from bastion.launcher.explain.gpu_lines import gpus
from bastion.launcher.read.job_rows import QueueView, gap_lines, gap_rows
from bastion.launcher.read.pending_reasons import derived
from bastion.launcher.read.stored_spec import stored_spec
from bastion.model.job.spec import written_out
from bastion.model.stored.journal_object import Gaps

from ..common.command_context import context_of
from ..common.job_choice import job_of
from ..terminal.flags import Options
from ..terminal.main import DONE, Call
from ..terminal.table import plain


def run(call: Call[Options]) -> int:
    """Print one row of `launch ls --json`, the spec, and the GPUs that the job uses now."""
    context = context_of(call)
    view = context.reader().look()
    found = job_of(call, context, view)
    row = QueueView(view, (), derived(view)).row(found.known)
    gaps = Gaps(list(view.gaps))
    spec = stored_spec(context.bucket, context.tasks, found, gaps)
    seen = gpus(context.bucket, context.tasks, found.job, found.task) if found.job else []
    shown = {"schema": 1, **row, "spec": written_out(spec) if spec else None}
    if call.output.json:
        call.output.data({**shown, "gpus": [gpu.row() for gpu in seen], **gap_rows(gaps.found)})
    else:
        lines = [*_page(shown), *(["gpus"] if seen else []), *(f"  {plain(gpu.line())}" for gpu in seen)]
        call.output.say("\n".join([*lines, *gap_lines(gaps.found)]))
    return DONE


def _page(shown: dict[str, Any]) -> list[str]:
    """Return one line for each field. The fields of the spec are indented."""
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
