"""The order of projects in one round, worked out only as far as it matters. Pure: the order changes only itself.

If everything is given away before the turn of a project comes, its wants are never sorted: only a lower bound of its
turn is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from ..shares import Shares
from .availability import Availability
from .index import Place, WorkClass
from .project_queue import ProjectQueue, WantProgress
from .share_promises import SharePromises

PROMISED, LENT, LEFT = range(3)  # the three passes

Turn = tuple[int, int, bool, float, int, str]  # pass, class, rank of the project (two fields), want's order, project


class ProjectOrder:
    """The wants of all projects in one round.

    Each project has two queues: one for the first two passes, and one for the wants that are put off to the last pass.
    """

    def __init__(
        self,
        room: Availability,
        shares: Shares,
        owed: SharePromises,
        *,
        ask: Callable[[str, WorkClass], WantProgress | None],
        is_open: Callable[[WorkClass], bool],
        weight: Callable[[str, str], float],
        last: Callable[[WorkClass, str], Place | None],
    ) -> None:
        self._room, self._shares, self._owed = room, shares, owed
        self._ask, self._is_open, self._weight, self._last = ask, is_open, weight, last
        self._work_classes: dict[str, list[WorkClass]] = {}
        self._late: dict[str, dict[WorkClass, None]] = {}
        self._own: dict[str, ProjectQueue] = {}
        self._rest: dict[str, ProjectQueue] = {}

    def enter(self, project: str, work_classes: list[WorkClass]) -> None:
        """Enter the work classes of a project that may get something."""
        self._work_classes[project] = work_classes
        self._late[project] = {}

    def outlook(self, project: str) -> Turn | None:
        """Return a lower bound of the project's next turn, which is cheap to compute. None if it has no turn."""
        work_classes = self._work_classes[project]
        return self._outlook(
            project, PROMISED if any(self._within(work_class) for work_class in work_classes) else LENT, work_classes
        )

    def next(self, project: str, go: int) -> Turn | None:
        """Return the project's next turn; None if it has no more.

        While `go` is not the last pass, a turn of the last pass is given by its lower bound only.
        """
        if project not in self._own:
            self._open(project)
        if ask := self._own[project].first():
            return self._turn(ask, PROMISED if self._within(ask.work_class) else LENT)
        late = self._late[project]
        if go < LEFT:
            return self._outlook(project, LEFT, late)
        if project not in self._rest:
            self._rest[project] = self._queue(project, late, ())
        ask = self._rest[project].first()
        return self._turn(ask, LEFT) if ask else None

    def ask(self, project: str, go: int) -> WantProgress:
        """Return the want whose turn it is."""
        ask = (self._rest if go == LEFT else self._own)[project].first()
        assert ask is not None, f"{project} has a turn and no want"
        return ask

    def put_off(self, work_class: WorkClass) -> None:
        """Let a work class get something in the last pass only."""
        self._late[work_class.project][work_class] = None

    def _outlook(self, project: str, go: int, work_classes: Collection[WorkClass]) -> Turn | None:
        if not work_classes:
            return None
        job_class = min(min(work_class.ranks)[0] for work_class in work_classes)
        return go, job_class, False, self._shares.least(project, self._room.use_of(project)), -1, project

    def _open(self, project: str) -> None:
        """Make the project's first queue. A work class that would take what others are promised is put off at once."""
        late = self._late[project]
        for work_class in self._work_classes[project]:
            fits = self._room.has(work_class.demand, work_class.max_tier)
            if fits and not self._within(work_class) and not self._owed.spares(project, work_class.demand):
                self.put_off(work_class)
        self._own[project] = self._queue(
            project, [work_class for work_class in self._work_classes[project] if work_class not in late], late
        )

    def _queue(self, project: str, work_classes: Iterable[WorkClass], elsewhere: Collection[WorkClass]) -> ProjectQueue:
        return ProjectQueue(
            work_classes,
            ask=self._ask,
            is_open=lambda work_class: work_class not in elsewhere and self._is_open(work_class),
            weight=lambda user: self._weight(project, user),
            last=self._last,
        )

    def _within(self, work_class: WorkClass) -> bool:
        return self._shares.due(work_class.project, self._room.use_of(work_class.project), work_class.demand)

    def _turn(self, ask: WantProgress, go: int) -> Turn:
        want = ask.want
        standing = self._shares.turn(want.project, self._room.use_of(want.project), ask.work_class.demand)
        return (go, want.job_class, *standing, want.order, want.project)
