"""The registry of the machines that bastions of this account have started here, and that still count.

Each machine has a folder, which is complete before its worker starts. Each process of ours has a file in it, named
after its role, its pid and its start. Within one boot these identify the process for good. So a bastion may crash at
any line:

- before the start: the folder has no processes, and the next bastion removes it. A worker that comes later after all
  finds no folder to register in, and ends before it does anything;
- after it: the worker registers itself first.

The folder lies below the bastion's state, where jobs of other accounts can neither read nor write. What a process
claims in its environment or its name counts for nothing here.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from bastion.model.errors import RunnerError

from ..worker.linux.process_tree import started
from .render import MARK, LocalMachineName, parse

KEEPER, WORKER, COMMAND = "keeper", "worker", "command"
OURS = frozenset({KEEPER, WORKER})
"""The roles of our own processes. A command is the user's process, which we started."""

_RECORD, _GONE, _NEW = "machine.json", "gone-", "new-"
_RECORD_BYTES_MAX = 64 * 1024


@dataclass(frozen=True, slots=True)
class StartedProcess:
    """A process that we started.

    kind: what it is for the machine: `keeper`, `worker` or `command`.
    pid: its number.
    start: its start, in ticks since the boot.
    """

    kind: str
    pid: int
    start: int

    @property
    def lives(self) -> bool:
        """Return True while it runs. A later process with its pid does not count."""
        return started(self.pid) == self.start


class MachineRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """The facts of a machine that are stored before it starts.

    machine: the machine's id.
    boot: the name of the boot in which it was started.
    account: the account of the job's processes; "" for the bastion's own.
    group: the control group of all its processes; "" if it has none.
    devices: the indices of its GPUs.
    """

    machine: str
    boot: str
    account: str = ""
    group: str = ""
    devices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RegistryEntry:
    """One machine in the registry.

    name: the parts of its id.
    record: its stored facts.
    folder: its folder in the registry.
    """

    name: LocalMachineName
    record: MachineRecord
    folder: Path

    def processes(self) -> list[StartedProcess]:
        """Return all registered processes, live or not. Raises `RunnerError`."""
        return _processes(self.folder)

    def living(self) -> list[StartedProcess]:
        """Return those that run."""
        return [process for process in self.processes() if process.lives]


@dataclass(frozen=True, slots=True)
class Registry:
    """The entries below `root`, of all bastions of this account.

    root: the folder of the registry.
    boot: the name of the current boot.
    """

    root: Path
    boot: str

    def entries(self) -> list[RegistryEntry]:
        """Return all entries, in the order of their ids. Raises `RunnerError` if they cannot be read."""
        try:
            folders = sorted(os.listdir(self.root))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise RunnerError(f"cannot read the list of machines: {error}") from error
        found = (self._entry(self.root / name) for name in folders if not name.startswith((_GONE, _NEW)))
        return sorted((entry for entry in found if entry), key=lambda entry: str(entry.name))

    def add(self, name: LocalMachineName, record: MachineRecord) -> RegistryEntry:
        """Add a complete entry, before any process of it starts. Raises `OSError`."""
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        new, folder = self.root / f"{_NEW}{name.nonce}", self.root / name.nonce
        new.mkdir(mode=0o700)
        (new / _RECORD).write_bytes(msgspec.json.encode(record))
        # last, so that no entry is ever incomplete
        new.rename(folder)
        return RegistryEntry(name, record, folder)

    def forget(self, entry: RegistryEntry) -> bool:
        """Remove an entry without processes. Return False if a process of it registered meanwhile: the entry stays."""
        gone = self.root / f"{_GONE}{entry.name.nonce}"
        try:
            # first, so that a worker that comes later finds no folder to register in
            entry.folder.rename(gone)
        except FileNotFoundError:
            return True
        except OSError as error:
            raise RunnerError(f"cannot remove the entry of {entry.name}: {error}") from error
        if any(process.lives for process in _processes(gone)):
            gone.rename(entry.folder)
            return False
        shutil.rmtree(gone, ignore_errors=True)
        return True

    def _entry(self, folder: Path) -> RegistryEntry | None:
        """Return the entry; None if the folder is none, or was removed meanwhile."""
        try:
            with open(folder / _RECORD, "rb") as file:
                record = msgspec.json.decode(file.read(_RECORD_BYTES_MAX), type=MachineRecord)
        except (OSError, msgspec.MsgspecError):
            return None
        name = parse(record.machine)
        return RegistryEntry(name, record, folder) if name is not None and name.nonce == folder.name else None


def register(folder: Path, kind: str, pid: int) -> bool:
    """Register a running process. Return False if its entry no longer exists: then the process must not go on."""
    start = started(pid)
    if start is None:  # it has ended already
        return folder.is_dir()
    try:
        os.close(os.open(folder / f"{kind}-{pid}-{start}", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def register_command(folder: Path, machine: str, pid: int) -> None:
    """Register what the worker of this machine started for its job.

    A container engine elsewhere has process numbers of its own, so a process that is not our child must carry the mark.
    """
    mark = f"{MARK}={machine}".encode()
    with suppress(OSError):
        with open(f"/proc/{pid}/stat", "rb") as file:
            ours = int(file.read().rpartition(b") ")[2].split()[1]) == os.getpid()
        if not ours:
            with open(f"/proc/{pid}/environ", "rb") as file:
                ours = mark in file.read().split(b"\0")
        if ours:
            register(folder, COMMAND, pid)


def _processes(folder: Path) -> list[StartedProcess]:
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise RunnerError(f"cannot read the list of machines: {error}") from error
    return list(_named(names))


def _named(names: list[str]) -> Iterator[StartedProcess]:
    for name in names:
        with suppress(ValueError):
            kind, pid, start = name.split("-")
            yield StartedProcess(kind, int(pid), int(start))
