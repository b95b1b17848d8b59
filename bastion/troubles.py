"""What is wrong now, by where it is wrong: for the log when it changes, for `bastion status` for as long as it lasts."""

from __future__ import annotations

import logging
from collections import UserDict
from collections.abc import Sequence
from datetime import datetime

from bastion.errors import BucketError, RunnerError
from bastion.records import Blind

TEXT_MAX = 512
_RUNNER = "runner "
"""A task of this name and a runner's asks that runner: who cannot be asked is blind."""

log = logging.getLogger("bastion")


class Troubles(UserDict[str, str]):
    """Where and what. Said again, it is logged only if it is something else."""

    def __init__(self) -> None:
        super().__init__()
        self._since: dict[str, datetime] = {}

    @property
    def blind(self) -> dict[str, Blind]:
        """The runners that do not answer, by their names."""
        return {
            where.removeprefix(_RUNNER): Blind(since=since, why=self[where])
            for where, since in self._since.items()
            if where.startswith(_RUNNER)
        }

    def say(self, where: str, error: object) -> None:
        """Something is wrong there."""
        what = str(error)[:TEXT_MAX]
        if self.get(where) != what:
            log.warning("%s: %s", where, what)
        self[where] = what

    def fell(self, task: str, error: Exception, now: datetime) -> None:
        """A task did not come to its end, once more or for the first time."""
        self._since.setdefault(task, now)
        self.say(task, error if isinstance(error, (BucketError, RunnerError)) else repr(error))

    def tell(self, where: str, wrong: Sequence[object]) -> None:
        """All that is wrong there now: the first of it, and how many more; nothing clears it."""
        if wrong:
            self.say(where, f"{wrong[0]} (and {len(wrong) - 1} more)" if len(wrong) > 1 else wrong[0])
        else:
            self.clear_of(where)

    def clear_of(self, where: str) -> None:
        """All is well there."""
        self.pop(where, None)
        self._since.pop(where, None)

    def lines(self, now: datetime) -> list[str]:
        """All of it, one line each."""
        blind = {f"{_RUNNER}{name}": one.told(name, now) for name, one in self.blind.items()}
        return [blind.get(where, f"{where}: {what}") for where, what in sorted(self.items())]
