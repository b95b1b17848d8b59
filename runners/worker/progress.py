"""The job's own report of its progress: lines of JSON such as `{"step": 120, "checkpoint": true}`. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

STEP_MAX = 2**53


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a job, as far as the worker has seen it.

    step: the last step; None before the first.
    checkpoint_at: when a new checkpoint was last seen; None before the first.
    mark: the step of that checkpoint; None before the first.
    """

    step: int | None = None
    checkpoint_at: datetime | None = None
    mark: int | None = None

    def after(self, data: bytes, now: datetime) -> Progress:
        """Return the progress after reading the end of the progress file. Lines without a step are ignored."""
        said = list(_said(data))
        if not said:
            return self
        mark = next((step for step, checkpoint in reversed(said) if checkpoint), self.mark)
        return Progress(said[-1][0], self.checkpoint_at if mark == self.mark else now, mark)


def _said(data: bytes) -> Iterator[tuple[int, bool]]:
    for line in data.splitlines():
        try:
            value: Any = msgspec.json.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
        step = value.get("step") if isinstance(value, dict) else None
        if type(step) is int and 0 <= step <= STEP_MAX:
            yield step, bool(value.get("checkpoint"))
