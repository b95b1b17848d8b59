"""What is done to processes: each act takes whom it finds, and says what it did; none if there is nobody."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

import psutil

from bastion.runners.local import process_marks
from tests.chaos.town import Crew, Town


@dataclass
class Harmed:
    """Who was hurt: attempts whose machine was taken away as a whole may lose what nobody had kept."""

    machines: set[tuple[str, int]] = field(default_factory=set)
    jobs: set[str] = field(default_factory=set)
    sleeper: Sleeper | None = None
    woken: list[Sleeper] = field(default_factory=list)

    def spares(self, bastion: subprocess.Popen[bytes]) -> bool:
        """It sleeps, or woke and is to end by itself."""
        return any(bastion is each.process for each in [*self.woken, *([self.sleeper] if self.sleeper else [])])


@dataclass
class Sleeper:
    """A bastion that is stopped for longer than any takeover: it woke up to a larger epoch."""

    process: subprocess.Popen[bytes]
    epoch: int


Act = Callable[[Town, Harmed], str]
"""What was done, to whom; empty: nobody was there to do it to."""


def kill_active(town: Town, harmed: Harmed) -> str:
    bastion = town.active()
    if bastion is None or harmed.spares(bastion):
        return ""
    bastion.kill()
    bastion.wait()
    return f"kill -9 of the bastion at work, epoch {town.epoch()}, pid {bastion.pid}"


def kill_standby(town: Town, harmed: Harmed) -> str:
    bastion = next((each for each in town.standbys() if not harmed.spares(each)), None)
    if bastion is None:
        return ""
    bastion.kill()
    bastion.wait()
    return f"kill -9 of a bastion that stands by, pid {bastion.pid}"


def kill_worker(town: Town, harmed: Harmed) -> str:
    crew = _victim(town, harmed)
    if crew is None or crew.worker is None:
        return ""
    if not _kill(crew.worker):
        return ""
    harmed.jobs.add(crew.name.key.job)
    return f"kill -9 of the worker of {crew.name.key}, pid {crew.worker}"


def kill_keeper(town: Town, harmed: Harmed) -> str:
    crew = _victim(town, harmed)
    if crew is None or crew.keeper is None:
        return ""
    if not _kill(crew.keeper):
        return ""
    return f"kill -9 of the keeper of {crew.name.key}, pid {crew.keeper}"


def kill_machine(town: Town, harmed: Harmed) -> str:
    """All at once, as when a machine loses its power: first nobody moves, then nobody lives."""
    crew = _victim(town, harmed)
    if crew is None:
        return ""
    key = crew.name.key
    harmed.jobs.add(key.job)
    harmed.machines.add((key.job, key.attempt))
    found = [process for process in process_marks.scan() if process.machine == str(crew.name)]
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for process in found:
            with suppress(ProcessLookupError):
                os.kill(process.pid, number)
    process_marks.kill([process for process in process_marks.scan() if process.machine == str(crew.name)])
    return f"kill -9 of all of machine {crew.name}"


def kill_client(town: Town, _: Harmed) -> str:
    """A client in the middle of a submission: whether its job is there, nobody knows yet."""
    with town.submit(patient=False) as client:
        time.sleep(town.random.uniform(0.1, 1.5))
        client.kill()
    return f"kill -9 of a client, pid {client.pid}"


def kill_server(town: Town, _: Harmed) -> str:
    down = town.random.choice((0.0, 0.0, 1.0, 3.0))
    town.store.crash(down)
    return f"kill -9 of the storage server, back after {down:g} s"


def pause_server(town: Town, _: Harmed) -> str:
    if not town.store.breaks:
        return ""
    seconds = town.random.uniform(0.5, 3.0)
    town.store.stall(seconds)
    return f"a storage server that stands still for {seconds:.1f} s"


def pause_worker(town: Town, harmed: Harmed) -> str:
    """Shorter than what makes it count as lost: nothing is to come of it."""
    crew = _victim(town, harmed)
    if crew is None or crew.worker is None:
        return ""
    seconds = town.random.uniform(0.5, 3.0)
    with suppress(ProcessLookupError):
        os.kill(crew.worker, signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(crew.worker, signal.SIGCONT)
    return f"a worker of {crew.name.key} that stands still for {seconds:.1f} s"


def pause_active(town: Town, harmed: Harmed) -> str:
    """Stop the bastion at work. It is woken by `wake`, when another one has long been at work."""
    bastion, epoch = town.active(), town.epoch()
    if bastion is None or harmed.sleeper is not None or harmed.spares(bastion):
        return ""
    _stop(bastion.pid)
    harmed.sleeper = Sleeper(bastion, epoch)
    return f"SIGSTOP of the bastion at work, epoch {epoch}, pid {bastion.pid}"


def wake(town: Town, harmed: Harmed) -> str:
    sleeper = harmed.sleeper
    assert sleeper is not None
    sleeper.process.send_signal(signal.SIGCONT)
    harmed.woken.append(sleeper)
    harmed.sleeper = None
    return (
        f"SIGCONT of the bastion of epoch {sleeper.epoch}, pid {sleeper.process.pid}; now there is epoch {town.epoch()}"
    )


KILLS: tuple[Act, ...] = (
    *(3 * [kill_active]),
    *(2 * [kill_worker]),
    *(2 * [kill_server]),
    kill_standby,
    kill_keeper,
    kill_machine,
    kill_client,
)
"""A deck: of ten kills, nearly each kind is one."""

HITCHES: tuple[Act, ...] = (pause_worker, pause_server)


def _victim(town: Town, harmed: Harmed) -> Crew | None:
    """A machine with a process of the user's, of a job that lost none before: a second loss would wait for half a minute."""
    crews = [crew for crew in town.crews() if crew.users and crew.name.key.job not in harmed.jobs]
    return town.random.choice(crews) if crews else None


def _kill(pid: int) -> bool:
    """False if it has ended by itself since it was found."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def _stop(pid: int) -> None:
    """SIGSTOP, and return when it stands still."""
    os.kill(pid, signal.SIGSTOP)
    process = psutil.Process(pid)
    while process.status() not in (psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE):
        time.sleep(0.005)


def is_alive(process: psutil.Process) -> bool:
    """Neither gone nor a zombie."""
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False
