"""A runner in a package of its own: this machine, as so many slots for jobs that ask for `slot=1`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bastion.model.interfaces import Placement, Runner
from bastion.runners.local.runner import LocalRunner
from bastion.runners.runner_context import Ground


class Slots:
    """Makes the runner `slots`."""

    def faults(self, options: Mapping[str, Any]) -> Iterator[str]:
        """What is wrong with `[runner_options.slots]`."""
        yield from (f"{key} is no option; use slots" for key in options if key != "slots")
        if (number := options.get("slots", 1)) not in range(1, 65):
            yield f"slots is {number!r}; use 1 to 64"

    def make(self, ground: Ground) -> Runner:
        """The runner of one bastion; its machines tell themselves from those of others by the scope."""
        return LocalRunner(
            name="slots",
            scope=f"{ground.scope}-slots",
            bucket_url=ground.bucket.url,
            work_root=Path(ground.environ.get("XDG_STATE_HOME", "/var/tmp"), "slots"),
            ids=ground.ids,
            clock=ground.clock,
            given={"slot": ground.options.get("slots", 1)},
            inherited=ground.environ,
            flags=ground.flags,
        )

    def preview(self, ground: Ground, placement: Placement) -> str:
        """There is nobody whom it would ask."""
        return ""


SLOTS = Slots()
