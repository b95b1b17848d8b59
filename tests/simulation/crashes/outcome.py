"""What a play of a scenario came to. Pure."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from bastion.model.interfaces import AttemptKey
from bastion.model.state.state import Cause, JobState

WorkerKey = tuple[AttemptKey, int]


@dataclass(slots=True)
class Log:
    """A worker's log: its bytes, whether it has its end, and whether a number is missing in between."""

    text: str = ""
    ended: bool = False
    gaps: bool = False


@dataclass(slots=True, kw_only=True)
class Outcome:
    """Where everything stands.

    `requests` is what became of each, in the order of the journal. `causes` are those of the ends of a task's attempts.
    `began` are the attempts that the journal promised something to; `left` the keys in the bucket that are to be gone.
    """

    requests: list[tuple[str, str, str]] = field(default_factory=list)
    tasks: dict[tuple[str, int], JobState] = field(default_factory=dict)
    causes: dict[tuple[str, int], list[Cause]] = field(default_factory=lambda: defaultdict(list))
    began: set[AttemptKey] = field(default_factory=set)
    forgotten: set[str] = field(default_factory=set)
    held: set[str] = field(default_factory=set)
    paused: bool = False
    files: dict[str, tuple[str | None, str]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    logs: dict[WorkerKey, Log] = field(default_factory=dict)
    keys: list[str] = field(default_factory=list)
    machines: list[str] = field(default_factory=list)
