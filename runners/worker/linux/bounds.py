"""What the processes of one worker may use of its machine, together, and what is said of those that used more. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bastion.model.state.state import Cause

OPEN_FILES = 65_536
"""As many as loaders of data with many workers open; the system's default of 1,024 ends them."""

_GIB = 2**30


@dataclass(frozen=True, slots=True)
class Excess:
    """A bound that was broken: the processes are ended for it, and this is what their user is told."""

    cause: Cause
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """`memory` in GiB, `processes` with their threads; 0: as much as the machine gives.

    `open_files` is of each process. `asked`: the memory is what the job asked for, and not the setting.
    """

    memory: int = 0
    processes: int = 0
    open_files: int = OPEN_FILES
    asked: bool = False

    def of_job(self, memory: int) -> Bounds:
        """The bounds of a job that asks for so many GiB: its own, where they are the narrower ones. 0: it does not ask."""
        if memory and (memory <= self.memory or not self.memory):
            return replace(self, memory=memory, asked=True)
        return self

    @property
    def of_all(self) -> bool:
        """Something bounds the processes together."""
        return bool(self.memory or self.processes)

    @property
    def memory_bytes(self) -> int:
        """The same in bytes."""
        return self.memory * _GIB

    def too_much(self) -> Excess:
        """They used more memory."""
        whose = "what the job asks for (resources: memory)" if self.asked else "the most (job_limits.memory)"
        more = "ask for more" if self.asked else "have an admin allow more"
        return Excess(Cause.OOM, f"killed: memory over {self.memory} GiB, which is {whose}; use less, or {more}")

    def too_many(self) -> Excess:
        """They were more."""
        told = f"killed: more than {self.processes} processes and threads, which is the most (job_limits.processes)"
        return Excess(Cause.SIGNAL, f"{told}; start fewer, or have an admin allow more")
