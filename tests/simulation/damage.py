"""Objects of a simulated bucket that other hands damage: those that are replaced again and again, and those written once."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random

from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.interfaces import AttemptKey
from bastion.model.state.state import AttemptState, Cause
from bastion.model.stored.records import Claim, Facts
from tests.simulation.laws.trust import FORGED
from tests.simulation.parts.kernel import Life
from tests.simulation.scene import Scene

WRONGS = (b"", b"{}", b"\xff\xfe\x00", b'{"schema":1,"phase":7}', b"null")
LOOK_S = 30.0
"""Between two looks of an operator into `bastion status`."""

_PAPERS = ("order.json", "stop.json", "world.json")


class Damage:
    """Acts of damage, by their kind. Each tells what was damaged, or nothing if nothing was there."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def tear(self, dice: Random) -> str:
        """The status, the facts of a worker or a snapshot."""
        return self._spoil(lambda key: key.startswith((layout.STATUS, layout.FACTS, layout.SNAPSHOTS)), dice)

    def spoil(self, dice: Random) -> str:
        """What is written once for a live attempt: a claim, the order, the stop, the addresses of a gang."""
        papers = dice.random() < 0.5
        key = self._spoil(self._is_live_paper if papers else self._is_live_claim, dice)
        named = layout.worker_of(key)
        if named is not None:
            self._scene.kernel.spawn(Life(), lambda: self._mend(key, *named, dice))
        return key

    def forge(self, dice: Random) -> str:
        """A job writes into the bucket what is not its own: a claim or facts that name a machine of another attempt."""
        scene = self._scene
        machines = [host.machine for host in scene.hosts.values()][-8:]
        live = [(key, worker) for key, _, one in scene.laws.truth.live_attempts() for worker in range(len(one.workers))]
        pairs = [(named, one.id) for named in live for one in machines if (one.key, one.worker) != named]
        if not pairs:
            return ""
        named, machine = dice.choice(pairs)
        if dice.random() < 0.5:
            key = layout.claim(*named)
            scene.store.put("tear", key, encode(Claim(machine=machine, address="10.0.0.9", port=1, nonce="forged")))
            scene.kernel.spawn(Life(), lambda: self._mend(key, *named, dice))
            return key
        key, (cause, code) = layout.facts(*named), dice.choice([(Cause.OK, 0), (Cause.CODE, 1)])
        scene.laws.torn(key)
        forged = Facts(phase="ended", machine=machine, cause=cause, exit_code=code, message=FORGED)
        scene.store.put("tear", key, encode(forged))
        return key

    def _spoil(self, meant: Callable[[str], bool], dice: Random) -> str:
        store = self._scene.store
        keys = [key for key in store.keys if meant(key)]
        if not keys:
            return ""
        key = dice.choice(keys)
        self._scene.laws.torn(key)
        data = store.objects[key][0]
        store.put("tear", key, dice.choice([data[: len(data) // 2], *WRONGS]))
        return key

    def _is_live_claim(self, key: str) -> bool:
        named = layout.worker_of(key) if key.startswith(layout.CLAIMS) else None
        return named is not None and self._is_live(named[0])

    def _is_live_paper(self, key: str) -> bool:
        if not key.startswith(layout.ATTEMPTS) or not key.endswith(_PAPERS):
            return False
        job, task, number, _ = key.removeprefix(layout.ATTEMPTS).split("/")
        return self._is_live(AttemptKey(job, int(task), int(number)))

    def _is_live(self, key: AttemptKey) -> bool:
        attempt = self._scene.laws.truth.attempt(key)
        return attempt is not None and attempt.state is not AttemptState.ENDED

    def _mend(self, key: str, attempt: AttemptKey, worker: int, dice: Random) -> None:
        """An operator, who does what `bastion status` says of a claim that is damaged, sooner or later."""
        scene, patience_s = self._scene, dice.choice([0.0, 1_200.0])
        while self._is_needed(attempt, worker):
            scene.lasts(2 * LOOK_S)
            scene.kernel.sleep(LOOK_S)
            if not self._is_named(key) or (patience_s := patience_s - LOOK_S) > 0:
                continue
            for host in scene.hosts.values():
                if (host.machine.key, host.machine.worker) == (attempt, worker):
                    host.kill()
            scene.trace.seen["by hand"] += 1
            scene.changed = True
            scene.store.put("write", key, encode(Claim(void=True, nonce="by hand")))
            return

    def _is_needed(self, key: AttemptKey, worker: int) -> bool:
        """The bastion does not know yet who runs there."""
        attempt = self._scene.laws.truth.attempt(key)
        if attempt is None or attempt.state is AttemptState.ENDED:
            return False
        return not (attempt.workers[worker].seen or attempt.workers[worker].over)

    def _is_named(self, key: str) -> bool:
        """What stands in `bastion status` of this object."""
        try:
            status = json.loads(self._scene.store.objects[layout.STATUS][0])
            return any(f"{key} cannot be" in text for text in status["problems"])
        except (KeyError, ValueError, TypeError):  # damaged itself, for a moment
            return False
