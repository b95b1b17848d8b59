"""The bounds of one worker's processes on its machine, and the message when they are broken. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bastion.model.state.state import Cause

OPEN_FILES = 65_536
"""The most open files of one process, enough for data loaders with many workers; the system's default is 1,024."""

_GIB = 2**30


@dataclass(frozen=True, slots=True)
class BrokenBound:
    """A bound that was broken; the processes are killed for it.

    cause: the cause that the attempt ends with.
    reason: the reason in words, for the user.
    """

    cause: Cause
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The most that the processes of one worker may use.

    memory: GiB of memory together; 0 means as much as the machine has.
    processes: processes and threads together; 0 means as many as the machine allows.
    open_files: open files of each process.
    asked: True if `memory` is what the job asked for, and not the setting.
    """

    memory: int = 0
    processes: int = 0
    open_files: int = OPEN_FILES
    asked: bool = False

    def of_job(self, memory: int) -> Bounds:
        """Return the bounds of a job that asks for so many GiB; 0: it does not ask.

        The narrower memory bound counts.
        """
        if memory and (memory <= self.memory or not self.memory):
            return replace(self, memory=memory, asked=True)
        return self

    @property
    def of_all(self) -> bool:
        """Return True if a bound covers the processes together."""
        return bool(self.memory or self.processes)

    @property
    def memory_bytes(self) -> int:
        """The memory bound in bytes."""
        return self.memory * _GIB

    def too_much(self) -> BrokenBound:
        """Return the excess of processes that used more memory."""
        whose = "what the job asks for (resources: memory)" if self.asked else "the most (job_limits.memory)"
        more = "ask for more" if self.asked else "ask an admin to allow more"
        return BrokenBound(Cause.OOM, f"killed: memory over {self.memory} GiB, which is {whose}; use less, or {more}")

    def too_many(self) -> BrokenBound:
        """Return the excess of more processes and threads."""
        told = f"killed: more than {self.processes} processes and threads, which is the most (job_limits.processes)"
        return BrokenBound(Cause.SIGNAL, f"{told}; start fewer, or ask an admin to allow more")
