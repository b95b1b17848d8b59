"""Current problems by place: logged when they change, and shown in `bastion status` for as long as they last."""

from __future__ import annotations

import logging
from collections import UserDict
from collections.abc import Mapping, Sequence
from datetime import datetime

from ..model.state.unreachable import Unreachable
from ..model.wording import one_line, told
from .task_results import BackgroundTask, Done, Failed, RunnerSeen

TEXT_MAX = 512
EACH_MAX = 8

log = logging.getLogger("bastion")


class Problems(UserDict[str, str]):
    """Current problems by place. A problem is logged only if it differs from the one before at its place."""

    def say(self, where: str, error: object) -> None:
        """Record a problem at this place."""
        what = one_line(str(error), TEXT_MAX)
        if self.get(where) != what:
            log.warning("%s: %s", where, what)
        self[where] = what

    def ended(self, end: Done | Failed) -> None:
        """Record that a task has ended, well or with an error."""
        if isinstance(end, Failed):
            self.say(str(end.task), told(end.error))
        else:
            self.clear_of(str(end.task))

    def tell(self, where: str, wrong: Sequence[object]) -> None:
        """Record all problems of a place as one line: the first, and how many more. An empty list clears the place."""
        if wrong:
            self.say(where, f"{wrong[0]} (and {len(wrong) - 1} more)" if len(wrong) > 1 else wrong[0])
        else:
            self.clear_of(where)

    def tell_each(self, where: str, wrong: Sequence[object]) -> None:
        """Record all problems of a place, one line for each up to a limit. An empty list clears the place."""
        for number in range(EACH_MAX):
            self.tell(
                f"{where} #{number + 1}", wrong[number:] if number == EACH_MAX - 1 else wrong[number : number + 1]
            )

    def clear_of(self, where: str) -> None:
        """Record that all is well at this place."""
        self.pop(where, None)

    def lines(self, blind: Mapping[str, Unreachable], now: datetime) -> list[str]:
        """Return one line for each problem. An unreachable runner, in `blind`, gets the line that its jobs show."""
        told = {str(BackgroundTask(RunnerSeen, name)): one.told(name, now) for name, one in blind.items()}
        return [told.get(where, f"{where}: {what}") for where, what in sorted(self.items())]
