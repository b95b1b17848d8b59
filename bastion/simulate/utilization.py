"""Follow one kind of resource over time: how much was held, idle, or with the wrong project. Pure but for itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from bastion.quota.shares import Shares


class Utilization:
    """The levels of one kind of resource now, in units, and their sums over time, in units times microseconds.

    `held` is what attempts hold, `used` the same by project, `waiting` the number of tasks of each size that wait, by
    project. `busy` sums `held`. `violated` sums violations of shares. A violation is what projects lacked to their
    shares and could have used for waiting tasks, or what others held above theirs, whichever is smaller: no more could
    have been put right. If a gang is larger than what its project's share has left, that rest does not count. `idle`
    sums what was free while a waiting task would have fitted. Violation and idleness are judged after each decision,
    and hold until the next.
    """

    def __init__(self, kind: str, shares: Shares) -> None:
        self.total = shares.capacity.get(kind, 0)
        self.held = 0
        self.used: dict[str, int] = defaultdict(int)
        self.waiting: dict[str, dict[int, int]] = defaultdict(dict)
        self.busy = self.violated = self.idle = 0
        self._wrong = self._unused = 0
        self._kind, self._shares = kind, shares

    def wait(self, project: str, units: int, tasks: int) -> None:
        """Count `tasks` more tasks that wait for `units` each; fewer if `tasks` is negative."""
        sizes = self.waiting[project]
        sizes[units] = sizes.get(units, 0) + tasks
        if not sizes[units]:
            del sizes[units]

    def hold(self, project: str, units: int) -> None:
        """Count `units` more as held; fewer if negative."""
        self.held += units
        self.used[project] += units

    def judge(self, *, fits: bool) -> None:
        """Judge a decision that was just made. `fits`: a waiting task would still fit into what is free."""
        self._wrong = self._violation()
        self._unused = max(0, self.total - self.held) if fits else 0

    def advance(self, length: int) -> None:
        """Let this many microseconds pass."""
        self.busy += self.held * length
        self.violated += self._wrong * length
        self.idle += self._unused * length

    def _violation(self) -> int:
        """Return the units that are with the wrong project.

        It is never more than what projects hold above their shares. If no project has a share of the kind, it is 0.
        """
        if self._kind not in self._shares.governed:
            return 0
        above = sum(max(0, used - self._share(name)) for name, used in self.used.items())
        if not above:
            return 0
        return min(above, sum(self._usable(name, sizes) for name, sizes in self.waiting.items() if sizes))

    def _usable(self, project: str, sizes: Mapping[int, int]) -> int:
        """Return what the project lacks to its share and could use; the smallest tasks count first."""
        lack = self._share(project) - self.used[project]
        usable = 0
        for size in sorted(sizes) if lack > 0 else ():
            usable += size * min(sizes[size], (lack - usable) // size)
        return usable

    def _share(self, project: str) -> int:
        return self._shares.units(project).get(self._kind, 0)
