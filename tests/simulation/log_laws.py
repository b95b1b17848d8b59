"""What must hold of logs: each byte that was printed once, in its place, without a gap, and all of them before an end is told."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from bastion.model import layout
from bastion.model.codec import decode
from bastion.model.interfaces import AttemptKey
from bastion.model.stored.records import Facts
from bastion.runners.worker.secret_mask import EVERYTHING
from tests.simulation.parts.broken import Broken
from tests.simulation.scene import Scene

_SEGMENT = re.compile(rf"{layout.LOGS}([^/]+)/(\d+)/(\d+)/(\d+)/(\d+)\.log")
_OURS = b"[bastion] "

Named = tuple[AttemptKey, int]


@dataclass(slots=True)
class LogLaws:
    """Compares what is stored with what was printed on the machine that claimed. `stored` are the bytes, by worker."""

    scene: Scene
    stored: dict[Named, bytes] = field(default_factory=dict)
    segments: dict[Named, int] = field(default_factory=dict)
    ended: set[Named] = field(default_factory=set)
    torn: set[str] = field(default_factory=set)

    def written(self, verb: str, key: str, data: bytes) -> None:
        """A write took effect. Raises `Broken`."""
        if verb == "tear":
            self.torn.add(key)
        if verb in ("tear", "delete") or self.scene.laws.rollback.lost:
            return
        if match := _SEGMENT.fullmatch(key):
            named = AttemptKey(match[1], int(match[2]), int(match[3])), int(match[4])
            self._segment(named, int(match[5]), key, data)
        elif key.startswith(layout.FACTS):
            cause = decode(data, Facts, key).cause
            if cause is not None and layout.worker_of(key) not in self.ended:
                raise Broken(f"{key} tells an end before its log has one")

    def _segment(self, named: Named, number: int, key: str, data: bytes) -> None:
        if number != self.segments.get(named, 0):
            raise Broken(f"{key} leaves a gap in its log")
        self.segments[named] = number + 1
        printed, stored = self._printed(named), self.stored.get(named, b"")
        self.stored[named] = stored + data
        if not data:
            self.ended.add(named)
            if self._shown(named, stored) != self._shown(named, printed):
                raise Broken(f"{key} ends a log of {len(stored)} bytes, and {len(printed)} were printed")
        elif not self._shown(named, printed[len(stored) :]).startswith(self._shown(named, data)):
            raise Broken(f"{key} holds what was not printed there")

    def _shown(self, named: Named, data: bytes) -> bytes:
        """The output without what is ours. A keeper that cannot know what is secret hides all that it stores."""
        data = data.partition(_OURS)[0]
        return EVERYTHING.hidden(data) if layout.order(named[0]) in self.torn else data

    def _printed(self, named: Named) -> bytes:
        claim = self.scene.laws.claims.get(named)
        host = self.scene.hosts.get(claim.machine) if claim else None
        return bytes(host.log) if host else b""
