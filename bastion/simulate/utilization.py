"""One kind of resource over time: how much of it worked, stood idle, or was with the wrong project. Pure but for itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from bastion.quota.shares import Shares


class Utilization:
    """Levels in units, as they are now; sums in units times microseconds, as far as time was passed.

    `held` is what attempts hold, `used` the same by project, `waiting` how many tasks of each size wait, by project.
    `busy` sums what was held. `violated` sums what projects lacked to their shares and could have used for tasks that
    waited, while others were above theirs: of both the smaller, for no more could have been put right. A gang that is
    larger than what its project's share has left is not owed that rest. `idle` sums what was free while some task that
    waited would have fitted. The last two are judged after each decision, and hold until the next.
    """

    def __init__(self, kind: str, shares: Shares) -> None:
        self.total = shares.pool.get(kind, 0)
        self.held = 0
        self.used: dict[str, int] = defaultdict(int)
        self.waiting: dict[str, dict[int, int]] = defaultdict(dict)
        self.busy = self.violated = self.idle = 0
        self._wrong = self._unused = 0
        self._kind, self._shares = kind, shares

    def wait(self, project: str, units: int, tasks: int) -> None:
        """So many more tasks wait for so much each, or fewer."""
        sizes = self.waiting[project]
        sizes[units] = sizes.get(units, 0) + tasks
        if not sizes[units]:
            del sizes[units]

    def hold(self, project: str, units: int) -> None:
        """So much more is held, or less."""
        self.held += units
        self.used[project] += units

    def judge(self, *, fits: bool) -> None:
        """A decision was made. `fits`: a task that waits would still fit into what is free."""
        self._wrong = self._violation()
        self._unused = max(0, self.total - self.held) if fits else 0

    def advance(self, length: int) -> None:
        """So many microseconds pass."""
        self.busy += self.held * length
        self.violated += self._wrong * length
        self.idle += self._unused * length

    def _violation(self) -> int:
        """No more than is above a share somewhere, and none of a kind of which nobody has one."""
        if self._kind not in self._shares.governed:
            return 0
        above = sum(max(0, used - self._share(name)) for name, used in self.used.items())
        if not above:
            return 0
        return min(above, sum(self._usable(name, sizes) for name, sizes in self.waiting.items() if sizes))

    def _usable(self, project: str, sizes: Mapping[int, int]) -> int:
        """What the project lacks to its share and could use: the smallest tasks first."""
        lack = self._share(project) - self.used[project]
        usable = 0
        for size in sorted(sizes) if lack > 0 else ():
            usable += size * min(sizes[size], (lack - usable) // size)
        return usable

    def _share(self, project: str) -> int:
        return self._shares.units(project).get(self._kind, 0)
