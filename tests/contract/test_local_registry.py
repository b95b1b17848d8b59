"""What counts on one machine is what was started there: marks that lie, workers that fall, bastions that fall in between."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.errors import RunnerError
from bastion.model.interfaces import MachineExistence
from bastion.platform import host
from bastion.platform.system import SystemClock
from bastion.runners.local import machine_guard as guards
from bastion.runners.local import render
from bastion.runners.local.machine_guard import MachineGuard
from bastion.runners.local.registry import COMMAND, KEEPER, WORKER, MachineRecord, Registry, register
from bastion.runners.local.render import LocalMachineName
from bastion.runners.local.runner import LocalRunner
from bastion.runners.worker.linux import machine_cgroup
from bastion.runners.worker.linux import process_tree as families
from bastion.testing.fleets import until, workers
from bastion.testing.stage import KEY, SAVES, WAIT, Stage, order, placement
from tests.contract.local_fleet import LocalFleet

NAME = LocalMachineName("b-1", KEY, 0, 1, "n0")


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry(tmp_path / "machines", host.boot())


@pytest.fixture
def not_adopting() -> Iterator[None]:
    """Whatever a runner of the test made of this process, it is no reaper afterwards."""
    yield
    ctypes.CDLL(None).prctl(36, 0, 0, 0, 0)


def written(file: Path) -> int:
    """The number in a file, once it is whole."""
    until(lambda: file.exists() and file.read_text().endswith("\n"), f"a number in {file.name}")
    return int(file.read_text())


def test_a_mark_that_lies_is_a_part_of_its_job_and_ends_with_it(fleet: LocalFleet, tmp_path: Path) -> None:
    stage = Stage(fleet)
    lie = '"${BASTION_MACHINE%%|*}|j-00000000/0/0/0@999999999.dead"'
    machine = stage.running(f"BASTION_MACHINE={lie} sleep 600 & echo $! >{tmp_path}/liar; echo up; exec sleep 600")
    liar = written(tmp_path / "liar")
    assert stage.runner.list() == fleet.again().list() == [machine]
    assert machine.epoch == 1
    assert stage.runner.look(f"{machine.id.split('|')[0]}|j-00000000/0/0/0@999999999.dead") is MachineExistence.GONE
    stage.runner.delete(machine.id)
    fleet.until(lambda: not host.is_alive(liar), "the end of the liar")
    assert stage.runner.list() == []


FLEES = """
keeper=$(awk '{{print $4}}' /proc/$PPID/stat)
setsid env -i sh -c 'echo $$ >{folder}/left; while [ ! -e {folder}/seen ]; do sleep 0.05; done
kill -9 '$keeper' '$PPID' '$$'; exec sleep 600' &
echo up
exec sleep 600
"""
"""A job of the worker's own account that ends the worker, its keeper and its own command. Its last process has no parent of ours
and stands in no registry."""


@pytest.mark.parametrize("kinds", [(machine_cgroup.V2,), (machine_cgroup.V1,), ()])
@pytest.mark.usefixtures("not_adopting")
def test_what_outlives_its_worker_holds_its_units_until_it_is_ended(
    fleet: LocalFleet, tmp_path: Path, kinds: tuple[str, ...]
) -> None:
    fleet.runner = fleet.made(adopts=True)
    fleet.runner.kinds = kinds
    stage = Stage(fleet)
    machine = stage.running(FLEES.format(folder=tmp_path))
    left = written(tmp_path / "left")
    assert stage.runner.list() == [machine]
    (tmp_path / "seen").touch()
    fleet.until(lambda: not workers(machine.id), "the end of the worker and its keeper")
    assert stage.runner.list() == [machine]
    assert stage.runner.look(machine.id) is MachineExistence.THERE
    assert host.is_alive(left)
    stage.runner.delete(machine.id)
    fleet.until(lambda: not host.is_alive(left), "the end of what was left")
    stage.gone(machine.id)
    fleet.until(lambda: not stage.runner.list() and families.born(left) is None, "its place in the system's table")


def test_this_machine_has_a_group_for_each_that_it_starts(fleet: LocalFleet) -> None:
    """Where root runs the tests: the other way is what the last case above takes."""
    made = [
        machine_cgroup.make(f"test-{os.getpid()}-{kind}", (kind,)) for kind in (machine_cgroup.V2, machine_cgroup.V1)
    ]
    for group in made:
        machine_cgroup.remove(group) if group else None
        assert not group or not Path(group).exists()
    assert any(made) == (os.geteuid() == 0)


def test_a_bastion_that_fell_before_the_start_leaves_nothing_and_a_late_worker_does_nothing(fleet: LocalFleet) -> None:
    stage = Stage(fleet)
    registry = Registry(fleet.folder / "machines", host.boot())
    name = LocalMachineName(fleet.runner.scope, KEY, 0, 1, "n0")
    entry = registry.add(name, MachineRecord(str(name), registry.boot))
    stage.bucket.write(layout.order(KEY), encode(order(KEY, "echo ran")))
    assert stage.runner.list() == []
    assert not entry.folder.exists()
    late = subprocess.run(command(fleet, name, entry=entry.folder), capture_output=True, text=True)
    assert late.returncode == 1
    assert "given up before it began" in late.stderr
    assert stage.claim() is None


def command(fleet: LocalFleet, name: LocalMachineName, **more: object) -> list[str]:
    """A worker's words, as a bastion starts it."""
    folder = fleet.folder / "work" / name.folder
    folder.mkdir(parents=True, exist_ok=True)
    return render.command(sys.executable, name, fleet.bucket.url, folder, (), cache=fleet.folder / "cache", **more)


def test_a_worker_of_an_older_bastion_is_taken_in(fleet: LocalFleet) -> None:
    stage = Stage(fleet)
    name = LocalMachineName(fleet.runner.scope, KEY, 0, 1, "n0")
    stage.bucket.write(layout.order(KEY), encode(order(KEY, SAVES)))
    stranger = LocalMachineName(fleet.runner.scope, KEY, 1, 1, "n1")  # of which there is no work folder
    environ = render.environment(os.environ, name, ["3"])
    with (
        subprocess.Popen(command(fleet, name), env=environ, start_new_session=True) as worker,
        subprocess.Popen(["sleep", "600"], env={**environ, "BASTION_MACHINE": str(stranger)}) as liar,
    ):
        fleet.until(lambda: stage.log() == "started\n", "its first word")
        (machine,) = stage.runner.list()
        assert machine.id == str(name)
        stage.runner.create(placement(KEY))
        assert stage.runner.list() == [machine]
        stage.runner.delete(machine.id)
        worker.wait()
        assert liar.poll() is None
        liar.kill()
    assert stage.runner.list() == []


def test_only_the_very_process_counts_and_not_a_later_one_of_its_pid(registry: Registry) -> None:
    entry = registry.add(NAME, MachineRecord(str(NAME), registry.boot))
    guard = MachineGuard(registry=registry, clock=SystemClock())
    (entry.folder / f"{KEEPER}-{os.getpid()}-12345").touch()
    assert not guard.lives(entry)
    guard.end(entry)  # we are here still
    assert register(entry.folder, WORKER, os.getpid())
    assert guard.lives(entry)
    assert not guard.forget(entry), "it began in this very moment"
    assert [found.name for found in registry.entries()] == [NAME]


def test_an_entry_of_before_the_system_started_is_of_nobody(registry: Registry) -> None:
    entry = registry.add(NAME, MachineRecord(str(NAME), "another boot"))
    register(entry.folder, KEEPER, os.getpid())
    guard = MachineGuard(registry=registry, clock=SystemClock())
    assert not guard.lives(entry)
    guard.end(entry)


def test_what_is_no_entry_is_passed_over_and_what_cannot_be_read_is_told(registry: Registry, tmp_path: Path) -> None:
    assert registry.entries() == []
    entry = registry.add(NAME, MachineRecord(str(NAME), registry.boot))
    (registry.root / "another").mkdir()
    (registry.root / "rubbish").mkdir()
    (registry.root / "rubbish" / "machine.json").write_bytes(b"{")
    (entry.folder / "no-process").touch()
    assert registry.entries() == [entry]
    assert entry.processes() == []
    (tmp_path / "file").touch()
    with pytest.raises(RunnerError, match="cannot read the list of machines"):
        Registry(tmp_path / "file", "boot").entries()


def test_stop_and_delete_leave_alone_what_is_not_just_this_machine(fleet: LocalFleet) -> None:
    stage = Stage(fleet)
    machine = stage.running(WAIT)
    rest = machine.id.split("|")[1]
    for other in (f"another|{rest}", machine.id.replace("@1.", "@2."), machine.id.replace("/0@", "/1@"), "no id"):
        stage.runner.stop(other)
        stage.runner.delete(other)
        assert stage.runner.look(other) is MachineExistence.GONE
    assert stage.machines() == [machine]


FORKS = "while [ ! -e {0}/go ]; do sleep 0.01; done; sleep 600 & echo $! >{0}/child; wait"


def test_a_machine_that_forks_between_the_look_and_the_kill_leaves_nothing(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = registry.add(NAME, MachineRecord(str(NAME), registry.boot))
    guard = MachineGuard(registry=registry, clock=SystemClock())
    look = guards.family

    def late(*roots: int) -> list[families.ProcessInfo]:
        found = look(*roots)
        (tmp_path / "go").touch()
        written(tmp_path / "child")
        return found

    with subprocess.Popen(["sh", "-c", FORKS.format(tmp_path)]) as process:
        assert register(entry.folder, COMMAND, process.pid)
        monkeypatch.setattr(guards, "family", late)
        guard.end(entry)
        assert process.wait() == -9
    until(lambda: not host.is_alive(written(tmp_path / "child")), "the end of what was born late")


def test_a_bomb_that_forks_while_it_is_killed_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    look = families.family

    def late(*roots: int) -> list[families.ProcessInfo]:
        found = look(*roots)
        (tmp_path / "go").touch()
        written(tmp_path / "child")
        return found

    with subprocess.Popen(["sh", "-c", '(eval "$1") & wait; exec sleep 0', "-", FORKS.format(tmp_path)]) as head:
        until(lambda: bool(look(head.pid)), "the first process of the bomb")
        monkeypatch.setattr(families, "family", late)
        assert not families.put_down(head.pid)
        head.wait()
    until(lambda: not host.is_alive(written(tmp_path / "child")), "the end of what was born late")


def test_a_registry_is_nobody_elses(fleet: LocalFleet) -> None:
    stage = Stage(fleet)
    stage.running(WAIT)
    assert (fleet.folder / "machines").stat().st_mode & 0o777 == 0o700
    roles = sorted(process.kind for entry in fleet.entries() for process in entry.living())
    assert roles == [COMMAND, KEEPER, WORKER]


def test_devices_of_a_machine_that_fell_are_held_as_long_as_anything_of_it_runs(fleet: LocalFleet) -> None:
    stage = Stage(fleet)
    machine = stage.running(WAIT)
    fleet.crash_worker(machine.id)
    assert isinstance(fleet.runner, LocalRunner)
    assert stage.runner.list() == [machine]
