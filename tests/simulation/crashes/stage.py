"""What all in a play of a scenario share: a calm world, the tape of all calls, and the laws that watch it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from random import Random

from bastion.journal.own_log import told
from bastion.model import layout
from bastion.model.job.spec import JobSpec
from bastion.model.stored.events import AnyEvent
from tests.simulation.crashes.outcome import WorkerKey
from tests.simulation.crashes.taps import Actor, Crash, Tape, TappedBucket
from tests.simulation.laws.laws import Laws
from tests.simulation.parts.broken import Broken
from tests.simulation.parts.host import Script, SimHost
from tests.simulation.parts.kernel import Kernel, Life
from tests.simulation.parts.pace import CAPACITY, FLEETS
from tests.simulation.parts.store import Line, SimBucket, Store
from tests.simulation.scene import QUOTA

CONFIG = b'poll = 5\nreclaim_delay = 5\nadmins = ["root"]\n'
LOOK_S = 0.5
"""Between two looks of whoever waits for something."""

PATIENCE_S = 600.0
"""For so long a story waits for what has to happen next in it."""

Tell = Callable[[float, str], None]
"""Told of each event, and when it was journalled."""


class Stage:
    """A calm world with one seed.

    `events` are the journal's, in order. `printed` is what each worker's process wrote, and `hurt` are the workers that did
    not live to tell all of it. Machines take `creation_s`; so many are `coming`. `lives` are those of the bastions, by their
    pid.
    """

    def __init__(self, crashes: Sequence[Crash] = (), tell: Tell | None = None) -> None:
        self.kernel = Kernel(1)
        self.tape = Tape(self.kernel, crashes)
        self._tell = tell
        self.store = Store(self.kernel)
        self.laws = Laws(CAPACITY, FLEETS[False])
        self.events: list[AnyEvent] = []
        self.laws.listener = self._happened
        self.store.watchers.append(lambda verb, key, data: self.laws.written(verb, key, data, self.kernel.now))
        self.hosts: dict[str, SimHost] = {}
        self.laws.alive = lambda name: name in self.hosts and self.hosts[name].there
        self.scripts: dict[str, Script] = {}
        self.specs: dict[str, JobSpec] = {}
        self.lives: list[Life] = []
        self.printed: defaultdict[WorkerKey, str] = defaultdict(str)
        self.hurt: set[WorkerKey] = set()
        self.seen: Counter[str] = Counter()
        self.creation_s: Callable[[], float] = lambda: 1.0
        self.coming = 0
        self.laws.inputs.good |= {CONFIG.decode(), QUOTA.decode()}
        self.store.put("write", layout.CONFIG, CONFIG)
        self.store.put("write", layout.QUOTA, QUOTA)

    def _happened(self, event: AnyEvent) -> None:
        self.events.append(event)
        if self._tell is not None:
            self._tell(self.kernel.now, told(event))

    def bucket(self, actor: Actor | None = None) -> TappedBucket | SimBucket:
        """A way to the bucket: of this process, or one that nobody listens to."""
        if actor is None:
            return SimBucket(self.store)
        return TappedBucket(SimBucket(self.store, Line(actor.name, Random(actor.name))), actor, self.tape)

    def until(self, condition: Callable[[], object], what: str) -> None:
        """Let the current strand wait. Raises `Broken` if that is in vain."""
        end = self.kernel.now + PATIENCE_S
        while not condition():
            if self.kernel.now > end:
                raise Broken(f"after {PATIENCE_S:.0f} s it is not so: {what}")
            self.kernel.sleep(LOOK_S)
