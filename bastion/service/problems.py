"""What is wrong now, by where it is wrong: for the log when it changes, for `bastion status` for as long as it lasts."""

from __future__ import annotations

import logging
from collections import UserDict
from collections.abc import Mapping, Sequence
from datetime import datetime

from ..journal.reachability import ASKS
from ..model.state.unreachable import Blind
from ..model.wording import one_line, told

TEXT_MAX = 512
EACH_MAX = 8

log = logging.getLogger("bastion")


class Problems(UserDict[str, str]):
    """Where and what. Said again, it is logged only if it is something else."""

    def say(self, where: str, error: object) -> None:
        """Something is wrong there."""
        what = one_line(str(error), TEXT_MAX)
        if self.get(where) != what:
            log.warning("%s: %s", where, what)
        self[where] = what

    def ended(self, task: str, error: Exception | None) -> None:
        """A task came to its end, or to this error."""
        if error is None:
            self.clear_of(task)
        else:
            self.say(task, told(error))

    def tell(self, where: str, wrong: Sequence[object]) -> None:
        """All that is wrong there now: the first of it, and how many more; nothing clears it."""
        if wrong:
            self.say(where, f"{wrong[0]} (and {len(wrong) - 1} more)" if len(wrong) > 1 else wrong[0])
        else:
            self.clear_of(where)

    def tell_each(self, where: str, wrong: Sequence[object]) -> None:
        """All that is wrong there now, each on a line of its own up to a bound; nothing clears it."""
        for number in range(EACH_MAX):
            self.tell(
                f"{where} #{number + 1}", wrong[number:] if number == EACH_MAX - 1 else wrong[number : number + 1]
            )

    def clear_of(self, where: str) -> None:
        """All is well there."""
        self.pop(where, None)

    def lines(self, blind: Mapping[str, Blind], now: datetime) -> list[str]:
        """All of it, one line each; of runners in `blind` as their jobs say it."""
        told = {f"{ASKS}{name}": one.told(name, now) for name, one in blind.items()}
        return [told.get(where, f"{where}: {what}") for where, what in sorted(self.items())]
