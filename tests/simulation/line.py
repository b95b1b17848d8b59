"""A program's way through the weather of its scene."""

from __future__ import annotations

from collections.abc import Callable

from bastion.model import layout
from tests.simulation.parts.kernel import Life
from tests.simulation.parts.store import Line, SimBucket
from tests.simulation.scene import Scene


class WeatherLine(Line):
    """Faults befall its calls while it storms. `life` is the program's: who has one can die in the middle of a call, and
    then `fell` is told.
    """

    def __init__(self, scene: Scene, name: str, life: Life | None = None) -> None:
        super().__init__(name, scene.dice(name))
        self.cut_until = 0.0
        self.fell: Callable[[], object] = lambda: None
        self._scene, self._life = scene, life
        self._appends_until = self._lists_until = 0.0

    def is_cut(self) -> bool:
        """It is cut off from the world."""
        return self._scene.kernel.now < self.cut_until

    def luck(self, call: str, where: str) -> str:
        """As the plan has it."""
        return self._scene.luck(call, self.dice, where)

    def rate(self, what: str) -> float:
        """As fast as appends to the journal are in this world, which may be slow."""
        return self._scene.appends if what.startswith(f"create {layout.JOURNAL}") else super().rate(what)

    def takes(self, what: str) -> float:
        """How many seconds this call takes; an append is held beside the listings that are under way."""
        seconds = super().takes(what)
        if what.startswith(f"create {layout.JOURNAL}"):
            self._appends_until = self._meets(self._lists_until, seconds)
        return seconds

    def lists(self, seconds: float) -> float:
        """A listing of machines takes so long; it is held beside the appends that are under way."""
        self._lists_until = self._meets(self._appends_until, seconds)
        return seconds

    def _meets(self, others_until: float, seconds: float) -> float:
        """When a call will be over that begins now. Those are counted that begin while another one is under way."""
        now = self._scene.kernel.now
        if now < others_until:
            self._scene.trace.seen["overlap"] += 1
        return now + seconds

    def fall(self) -> None:
        """The program ends here, and never comes back from this."""
        if self._life is not None:
            self._life.end()
            self.fell()
            self._scene.kernel.park()


def bucket_of(scene: Scene, name: str, life: Life | None = None) -> tuple[SimBucket, WeatherLine]:
    """A program's bucket, and its line to it."""
    line = WeatherLine(scene, name, life)
    return SimBucket(scene.store, line), line
