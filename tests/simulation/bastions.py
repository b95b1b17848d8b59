"""A bastion process of any simulated world: who it is, the doors that its real code is given, and its end."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Protocol

from bastion.model.interfaces import Bucket, Clock, Runner
from bastion.platform.store_clock import StoreClock
from bastion.service import loop
from bastion.service.maintenance import ServiceContext
from bastion.service.received_request import RequestAuthors
from bastion.service.tick import Bastion
from tests.simulation.laws.input import ACCOUNTS, NAMES
from tests.simulation.laws.laws import Laws
from tests.simulation.parts.kernel import Kernel, Life, SimIds, SimTasks

AUTHORS = RequestAuthors(own=0, number_of=ACCOUNTS.get, name_of=NAMES.__getitem__, as_submitter=True)


class Ground(Protocol):
    """What the bastions of one world share. `lives` are all of theirs, by their pid."""

    kernel: Kernel
    laws: Laws
    lives: list[Life]


class SimBastion:
    """One process. `bastion` is the real one, once it is at work."""

    def __init__(self, ground: Ground, host: str) -> None:
        self.bastion: Bastion | None = None
        self.life, self.pid = Life(), len(ground.lives)
        ground.lives.append(self.life)
        self._ground, self._compared = ground, -1
        self._me = loop.ThisBastion(
            name="sim", host=host, boot="boot", pid=self.pid, alive=lambda pid: ground.lives[pid].alive
        )

    @property
    def epoch(self) -> int:
        """0 before it is at work."""
        return self.bastion.journal.epoch if self.bastion else 0

    def doors(
        self, bucket: Bucket, runners: Sequence[Runner], clock: Clock, snapshot: Callable[[], object], rate: float = 1.0
    ) -> ServiceContext:
        """What it has of the world. Its tasks are strands of its life; `rate` is that of its clock."""
        kernel = self._ground.kernel
        tasks = SimTasks(kernel, self.life, rate)
        named = {runner.name: runner for runner in runners}
        store_clock = StoreClock(bucket, clock, self._me.host, self.pid)
        return ServiceContext(
            bucket=bucket,
            runners=named,
            clock=clock,
            ids=SimIds(kernel),
            tasks=tasks,
            snapshot=snapshot,
            store_clock=store_clock,
            authors=AUTHORS,
        )

    def begin(
        self, doors: ServiceContext, *, takeover: bool = False, stopping: Callable[[], bool] = lambda: False
    ) -> bool:
        """Be at work when nobody else is, or at once. False if asked to stop before that."""
        self.bastion = loop.take_up(doors, self._me, stopping, takeover=takeover)
        return self.bastion is not None

    def compare(self) -> None:
        """Hold its memory beside the journal, if all of it is written and anything is new."""
        assert self.bastion is not None
        journal = self.bastion.journal
        if not journal.dirty and journal.state.seq != self._compared:
            self._ground.laws.remembers(journal.state)
            self._compared = journal.state.seq

    def end(self) -> None:
        """It is no more; and its log is off the process's logger, as that of a process that ended is."""
        self.life.end()
        if self.bastion is not None:
            logging.getLogger("bastion").removeHandler(self.bastion.own_log)
