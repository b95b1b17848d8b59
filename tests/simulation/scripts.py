"""What users run on simulated machines: commands that end, fail, hang, fork, and heed signals or do not."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from bastion.model.interfaces import AttemptKey
from tests.simulation.parts.host import SimProcess
from tests.simulation.scene import Scene

HANGS = "hang"
"""A command with this word in it never ends by itself."""

LAGS = "lag"
"""Of a gang with this word in its command only the first worker does."""


def know(scene: Scene, command: str, dice: Random) -> None:
    """Let machines know what this command does."""
    seconds = dice.choice([0.0, 5.0, 20.0, 60.0])
    scene.scripts[command] = _script(scene, command, 1e6 if HANGS in command else seconds, dice.getrandbits(32))


def _script(scene: Scene, command: str, seconds: float, seed: int) -> Callable[[SimProcess], int]:
    def script(process: SimProcess) -> int:
        env = process.env
        key = AttemptKey(env["BASTION_JOB"], int(env["BASTION_TASK"]), int(env["BASTION_ATTEMPT"]))
        worker = int(env["BASTION_WORKER_INDEX"])
        dice = Random(f"{seed} {key} {worker}")
        lasts = 1e6 if LAGS in command and worker else seconds
        if not scene.laws.rollback.lost:
            scene.laws.control.process(key, command)
        _started(scene, key, worker, process)
        process.traps = dice.random() < 0.75
        process.print("begin\n")
        if dice.random() < 0.2:
            process.fork(seconds + dice.uniform(0, 40), traps=dice.random() < 0.5)
        code = 0 if dice.random() < 0.8 else Random(f"code {seed} {key}").choice([1, 1, 2])
        if process.sleep(lasts * dice.uniform(0.5, 1.5)):
            code = _told_to_end(process, dice)
        scene.laws.exited(key, worker, code, killed=code == 143)
        process.print("done\n")
        return code

    return script


def _told_to_end(process: SimProcess, dice: Random) -> int:
    """After SIGTERM: some clean up, and some do not care."""
    process.forget_signal()
    process.sleep(dice.choice([0.0, dice.uniform(0, 30), 600.0]))
    return 0 if dice.random() < 0.2 else 143


def _started(scene: Scene, key: AttemptKey, worker: int, process: SimProcess) -> None:
    live = {
        (host.machine.key, host.machine.worker): host
        for host in scene.hosts.values()
        if host.process is not process and host.runs
    }
    scene.trace.seen["process"] += 1
    scene.changed = True
    scene.laws.starts(key, worker, live)
    own = next((host for host in scene.hosts.values() if host.process is process), None)
    if own is not None:
        scene.laws.inputs.runs(key.job, own.account, scene.laws.truth)
    scene.laws.uses({(key, worker): process.holds} | {place: host.holds for place, host in live.items()})
