"""A runner in a package of its own: this machine, as so many slots for jobs that ask for `slot=1`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bastion.model.interfaces import Placement, Runner
from bastion.runners.local.runner import LocalRunner
from bastion.runners.runner_context import RunnerContext


class Slots:
    """Makes the runner `slots`."""

    def faults(self, options: Mapping[str, Any]) -> Iterator[str]:
        """What is wrong with `[runner_options.slots]`."""
        yield from (f"{key} is no option; use slots" for key in options if key != "slots")
        if (number := options.get("slots", 1)) not in range(1, 65):
            yield f"slots is {number!r}; use 1 to 64"

    def make(self, context: RunnerContext) -> Runner:
        """The runner of one bastion; its machines tell themselves from those of others by the scope."""
        return LocalRunner(
            name="slots",
            scope=f"{context.scope}-slots",
            bucket_url=context.bucket.url,
            work_root=Path(context.environ.get("XDG_STATE_HOME", "/var/tmp"), "slots"),
            ids=context.ids,
            clock=context.clock,
            given={"slot": context.options.get("slots", 1)},
            inherited=context.environ,
            flags=context.flags,
        )

    def preview(self, context: RunnerContext, placement: Placement) -> str:
        """There is nobody whom it would ask."""
        return ""


SLOTS = Slots()
