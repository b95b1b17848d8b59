"""What the job says of its progress: lines of JSON such as `{"step": 120, "checkpoint": true}`. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

STEP_MAX = 2**53


@dataclass(frozen=True, slots=True)
class Progress:
    """The last step, and when a new checkpoint was last seen. `mark` is the step of that checkpoint."""

    step: int | None = None
    checkpoint_at: datetime | None = None
    mark: int | None = None

    def after(self, data: bytes, now: datetime) -> Progress:
        """What the end of the progress file adds. Lines that say nothing are passed over."""
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
