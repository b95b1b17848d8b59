"""What befalls a simulated world beside its calls: each act of the plan at its step, with dice of its own."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from bastion.journal import lost_tail
from bastion.journal.recover import one_by_one
from bastion.model import layout
from bastion.model.codec import decode
from bastion.model.errors import RecordError
from bastion.model.interfaces import AttemptKey, Machine
from bastion.model.stored.status import Status
from tests.simulation.cloud import Cloud
from tests.simulation.contest import Contest
from tests.simulation.damage import Damage
from tests.simulation.mischief import Mischief
from tests.simulation.parts.broken import Broken
from tests.simulation.parts.kernel import Life, SimClock, SimIds
from tests.simulation.parts.plan import AIM_STEPS, Act
from tests.simulation.parts.store import SimBucket, Store
from tests.simulation.program import Program
from tests.simulation.scene import Scene
from tests.simulation.users import User

OFFS_S = (120.0, 3_600.0, 259_200.0)
"""So much a clock may be off that nobody has set."""

PATIENCES_S = (240.0, 900.0)
"""So long nobody has accepted that the end of the journal is lost."""

WAIT_STEPS = 20
"""After so many steps more it is seen again whether a bastion is at work."""

STANDBY_S = 60.0
"""A bastion that died is started again within this time."""


class Chaos:
    """Does the acts of the plan when their step has come, and keeps at least one bastion alive."""

    def __init__(self, scene: Scene) -> None:
        self._scene, self._cloud = scene, Cloud(scene)
        self._programs: list[Program] = []
        self._acts = sorted([*scene.plan.users, *scene.plan.acts], reverse=True)
        self._others = Mischief(scene), Damage(scene), Contest(scene)
        self._aimed: list[Act] = []
        self._users = 0
        self._dice = scene.dice("keeper")
        scene.kernel.spawn(Life(), self._keep)

    @property
    def due(self) -> bool:
        """Acts are to be done now, or wait for their state."""
        return bool(self._aimed) or (bool(self._acts) and self._acts[-1].step <= self._scene.trace.steps)

    @property
    def over(self) -> bool:
        """Nothing is left to do."""
        return not (self._acts or self._aimed)

    def act(self) -> None:
        """Do what is due. What waits for a state is done when it has waited for long, and left out once the storm is over."""
        scene, now = self._scene, self._scene.trace.steps
        while self._acts and self._acts[-1].step <= now:
            self._aimed.append(self._acts.pop())
        waiting, self._aimed = self._aimed, []
        for act in waiting:
            if act.kind == "user":
                scene.kernel.spawn(Life(), self._user(act).live)
            elif not act.aim or act.aim in scene.laws.states or now >= act.step + AIM_STEPS:
                self._begin(act)
            elif scene.stormy:
                self._aimed.append(act)

    def hush(self) -> None:
        """End all bastions."""
        for program in self._programs:
            program.end()

    def _begin(self, act: Act) -> None:
        """After a loss of the journal's end nothing else befalls."""
        if self._scene.laws.rollback.lost:
            return
        does = [getattr(self, f"_{act.kind}", None), *(getattr(other, act.kind, None) for other in self._others)]
        do: Callable[[Random], str] = next(filter(None, does))
        if where := do(Random(act.seed)):
            self._scene.strikes(act.kind, where)
            self._scene.changed = True

    def _keep(self) -> None:
        """Whoever died is started again, soon. The first of all may be of an older version, beside which a newer one waits."""
        if self._scene.plan.upgrade:
            self._start(older=True)
            self._scene.trace.seen["upgrade"] += 1
        while True:
            if not self._alive():
                self._start()
            self._scene.kernel.sleep(self._dice.uniform(1, STANDBY_S / 2))

    def _start(self, *, older: bool = False, takeover: bool = False) -> Program:
        self._programs.append(Program(self._scene, self._cloud, older=older, takeover=takeover))
        return self._programs[-1]

    def _user(self, act: Act) -> User:
        self._users += 1
        return User(self._scene, act, self._users - 1)

    def _alive(self) -> list[Program]:
        return [program for program in self._programs if program.life.alive and not program.older]

    def _one(self, dice: Random) -> Program | None:
        alive = [program for program in self._programs if program.life.alive]
        return dice.choice(alive) if alive else None

    def _host(self, dice: Random, *, running: bool = False) -> str | None:
        there = [name for name, host in self._scene.hosts.items() if host.there and (host.runs or not running)]
        return dice.choice(there) if there else None

    # Bastions

    def _crash(self, dice: Random) -> str:
        program = self._one(dice)
        if program is None:
            return ""
        program.end()
        return program.line.name

    def _pause(self, dice: Random) -> str:
        program = self._one(dice)
        if program is None:
            return ""
        program.life.paused_until = self._scene.lasts(_long(dice))
        return f"{program.line.name} until {program.life.paused_until:.0f}"

    def _rival(self, dice: Random) -> str:
        return self._start(takeover=dice.random() < 0.5).line.name if len(self._alive()) < 3 else ""

    def _older(self, dice: Random) -> str:
        return self._start(older=True, takeover=dice.random() < 0.5).line.name

    def _jump(self, dice: Random) -> str:
        program = self._one(dice)
        if program is None:
            return ""
        program.clock.jump(dice.choice([-3600.0, 3600.0]), self._scene.lasts(dice.uniform(0, 1200)))
        return program.line.name

    def _clock(self, dice: Random) -> str:
        """A bastion starts where the clock is minutes to days off, until somebody sets it right."""
        if len(self._alive()) > 2:
            return ""
        program, off = self._start(takeover=dice.random() < 0.5), dice.choice(OFFS_S) * dice.choice([-1, 1])
        program.clock.jump(off, self._scene.lasts(dice.choice([20.0, 300.0, 1200.0])))
        return f"{program.line.name} by {off:.0f} s"

    # The bucket

    def _outage(self, dice: Random) -> str:
        store = self._scene.store
        store.down_until = self._scene.lasts(dice.choice([60.0, 60.0, 300.0, 300.0, 3600.0]))
        return f"until {store.down_until:.0f}"

    def _cut(self, dice: Random) -> str:
        lines = [("", program.line) for program in self._programs if program.life.alive]
        lines += [(name, line) for name, line in self._cloud.lines.items() if self._scene.hosts[name].there]
        if not lines:
            return ""
        machine, line = dice.choice(lines)
        line.cut_until = self._scene.lasts(_long(dice))
        self._scene.laws.harmed.add(machine)
        return f"{line.name} until {line.cut_until:.0f}"

    def _rollback(self, dice: Random) -> str:
        """The newest journal objects are gone, of bastions at work or while all are down. All other weather is over by then."""
        scene, store = self._scene, self._scene.store
        number, down, snapshots = _told(store), dice.random() < 0.4, dice.random() < 0.5
        if not number or not (down or any(map(self._is_at_work, self._programs))):
            self._acts.append(Act(scene.trace.steps + WAIT_STEPS, "rollback", dice.getrandbits(32)))
            self._acts.sort(reverse=True)
            return ""
        cut = dice.choice([number - 1, max(0, number - 3), number // 2, 0])
        lost = [layout.journal(gone) for gone in range(cut, scene.laws.truth.seq)]
        scene.laws.rollback.loses(scene.kernel.now, len(scene.lives), {key: store.objects[key][0] for key in lost})
        for program in self._programs:
            program.line.cut_until = 0.0
            if down or scene.kernel.now < program.life.paused_until:
                program.end()
        store.down_until = 0.0
        scene.blind_until = dict.fromkeys(scene.fleet, 0.0)
        for key in store.found(layout.SNAPSHOTS, ""):
            if snapshots and layout.is_snapshot(key) and layout.seq_of(key) > cut:
                store.drop(key)
        for key in lost:
            store.drop(key)
        scene.kernel.spawn(
            Life(), self._user(Act(0, "user", dice.getrandbits(32))).live, 1.0
        )  # so that more is written
        scene.kernel.spawn(Life(), lambda: self._accept(dice.choice(PATIENCES_S)))
        return f"{len(lost)} objects from {cut} on, {'all are down' if down else 'at work'}"

    def _is_at_work(self, program: Program) -> bool:
        return bool(program.life.alive and program.epoch) and self._scene.kernel.now >= program.life.paused_until

    def _accept(self, patience_s: float) -> None:
        """An admin goes on without what is lost, sooner or later, while no bastion is at work."""
        scene, bucket = self._scene, SimBucket(self._scene.store)
        scene.kernel.sleep(patience_s)
        while any(program.life.alive and program.epoch for program in self._programs):
            scene.kernel.sleep(STANDBY_S / 2)
        found = lost_tail.survey(bucket, one_by_one)
        if not scene.laws.rollback.open:
            return
        if found.is_nothing:
            raise Broken("bastion recover finds nothing that is lost")
        lost_tail.accept(bucket, SimClock(scene.kernel), SimIds(scene.kernel), found, user="root", host="desk", pid=0)
        scene.trace.seen["accepted"] += 1

    # Machines

    def _blind(self, dice: Random) -> str:
        """One of the runners, or all of them, answer nothing."""
        until, fleet = self._scene.lasts(dice.choice([10.0, 60.0, 300.0])), list(self._scene.fleet)
        dark = dice.choice([fleet, *([name] for name in fleet)]) if len(fleet) > 1 else fleet
        self._scene.blind_until |= dict.fromkeys(dark, until)
        return f"{', '.join(dark)} until {until:.0f}"

    def _vanish(self, dice: Random) -> str:
        name = self._host(dice)
        if name is None:
            return ""
        self._scene.hosts[name].kill()
        return name

    def _preempt(self, dice: Random) -> str:
        """The cloud takes a machine back: notice, and half a minute later it is gone."""
        name = self._host(dice, running=True)
        if name is None:
            return ""
        host = self._scene.hosts[name]
        self._scene.laws.harmed.add(name)
        host.noticed.set()
        self._scene.kernel.spawn(Life(), host.kill, 30.0)
        self._scene.lasts(30.0)
        return name

    def _reboot(self, dice: Random) -> str:
        name = self._host(dice)
        if name is None:
            return ""
        self._scene.hosts[name].kill()
        self._cloud.reboot(self._scene.hosts[name])
        return name

    def _kill(self, dice: Random) -> str:
        """A worker is killed, and its keeper is not."""
        name = self._host(dice)
        if name is None:
            return ""
        self._cloud.kill(self._scene.hosts[name])
        return name

    def _sleep(self, dice: Random) -> str:
        name = self._host(dice, running=True)
        if name is None:
            return ""
        until = self._scene.lasts(_long(dice))
        self._scene.laws.harmed.add(name)
        self._scene.hosts[name].pause(until)
        return f"{name} until {until:.0f}"

    def _stranger(self, dice: Random) -> str:
        """Somebody else's machine comes up under the name of one of ours, and does nothing."""
        live = [key for key, _, _ in self._scene.laws.truth.live_attempts()]
        if not live:
            return ""
        return self._cloud.stranger(dice.choice(live), dice)

    def _spoof(self, dice: Random) -> str:
        """Somebody's own thing shows up under a name of ours: of a larger epoch, of a live attempt, with another's nonce."""
        scene = self._scene
        live = [key for key, _, _ in scene.laws.truth.live_attempts()]
        key = dice.choice([*live, AttemptKey("j-00000000", 0, 0)])
        epoch = dice.choice([scene.laws.truth.epoch, 999_999_999])
        nonces = [name.rpartition(".")[2] for name in scene.hosts if f":{key}/" not in name]
        nonce = dice.choice([*nonces[-3:], "dead", f"{dice.getrandbits(128):032x}"])
        name = f"sim:{key}/0@{epoch}.{nonce}"
        if name in scene.spoofs:
            return ""
        self._cloud.spoof(Machine(id=name, key=key, worker=0, epoch=epoch, doomed=dice.random() < 0.1))
        return name


def _told(store: Store) -> int:
    """How many journal objects `status.json` tells of; 0 if it is damaged, or tells nothing."""
    if layout.STATUS not in store.objects:
        return 0
    try:
        status = decode(store.objects[layout.STATUS][0], Status, layout.STATUS)
    except RecordError:
        return 0
    return status.seq if status.head else 0


def _long(dice: Random) -> float:
    """Seconds: short, longer than any takeover, or now and then an hour."""
    return dice.choice([dice.uniform(5, 40), dice.uniform(20, 200), dice.uniform(20, 200), dice.uniform(60, 3600)])
