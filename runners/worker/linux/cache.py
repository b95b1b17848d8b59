"""The cache of what setups have made on this machine: for each, a virtual environment and the code of its setup.

An entry is built under a unique name, and is used only after a mark says that it is complete: a worker that crashes in
the middle leaves a folder that is never used. The entry's lock is exclusive while the entry is built, and shared while
jobs run in it. The system releases the lock of a worker that dies.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bastion.model.errors import BundleError, RunnerError
from bastion.model.interfaces import Clock, Ids, Shell
from bastion.stores import untrusted

from .unix_account import UnixAccount

KEPT = 16
"""The most entries that are kept; the most recently used ones stay."""

KEPT_FOR = timedelta(days=14)
"""How long an entry is kept after its last use."""

VENV_S = 300.0
"""The most seconds that the creation of an empty environment may take."""

_MARK, _LOCK = "ready", "lock"
_MARK_BYTES = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Cache:
    """The entries below `root`, of all workers of this account on this machine.

    root: the folder of the entries.
    boot: the name of the machine's current boot. Entries of an earlier boot are rebuilt: they may never have reached
        the disk.
    shell: runs the commands that build an entry.
    clock: gives the age of entries.
    ids: gives the unique names of entries.
    account: the account of setups and jobs; None if it is the worker's own.

    Each account has entries of its own, and so has each user and each project.
    """

    root: Path
    boot: str
    shell: Shell
    clock: Clock
    ids: Ids
    account: UnixAccount | None = None

    def keep(self, name: str, path: str) -> CacheEntry:
        """Return the entry of this name for the `python3` of this PATH, locked until the worker ends.

        Waits while another worker builds it. Raises `BundleError` if there is no such Python.
        """
        python = shutil.which("python3", path=path)
        if python is None:
            raise BundleError(
                "a setup needs python3, but the PATH of this machine has none; ask an admin to install it"
            )
        whose = f"\0{self.account.uid}" if self.account else ""
        word = hashlib.sha256(f"{name}\0{os.path.realpath(python)}{whose}".encode()).hexdigest()[:32]
        folder = self.root / word
        while True:
            shared = _locked(folder, fcntl.LOCK_SH)
            if made := self._made(folder):
                os.utime(folder / _MARK)
                return CacheEntry(self, folder / made, python, shared, ready=True)
            os.close(shared)
            alone = _locked(folder, fcntl.LOCK_EX)
            if not self._made(folder):
                _remove_parts(folder)
                if self.account:
                    self.account.let_in(str(folder))
                return CacheEntry(self, folder / self.ids.new(), python, alone, ready=False)
            # another worker has built it meanwhile: take the shared lock
            os.close(alone)

    def _made(self, folder: Path) -> str:
        """Return the name of the complete build; "" if there is none."""
        try:
            made, _, boot = untrusted.whole(folder / _MARK, _MARK_BYTES).decode("utf-8", "replace").partition(" ")
        except OSError:
            return ""
        return made if boot == self.boot and (folder / made / "venv").is_dir() else ""

    def sweep(self) -> None:
        """Remove entries that are too many or too old, but none that is in use or being built."""
        with suppress(OSError):
            used = sorted(((_used(folder), folder) for folder in self.root.iterdir()), reverse=True)
            oldest = self.clock.wall() - KEPT_FOR
            for at, (when, folder) in enumerate(used):
                if at >= KEPT or when < oldest:
                    _remove(folder)


class CacheEntry:
    """One virtual environment with its code.

    ready: True if its setup was run before.
    code: the path of the folder of the code.
    venv: the path of the environment.
    """

    def __init__(self, cache: Cache, folder: Path, python: str, lock: int, *, ready: bool) -> None:
        self.ready = ready
        self.code = str(folder / "code")
        self.venv = str(folder / "venv")
        self._cache, self._folder, self._python, self._lock = cache, folder, python, lock

    def begin(self) -> None:
        """Make an empty environment. Raises `BundleError`."""
        argv = [self._python, "-I", "-m", "venv", self.venv]
        try:
            os.makedirs(self.code)
            said = self._cache.shell.run(argv, limit_s=VENV_S)
        except (OSError, RunnerError) as error:
            raise BundleError(f"cannot make a virtual environment: {error}") from error
        if said.code:
            words = " ".join((said.out + said.err).split())[-500:]
            raise BundleError(f"{' '.join(argv[:4])} failed on this machine: {words}")
        if self._cache.account:
            self._cache.account.let_in(str(self._folder))
            self._cache.account.give(self.venv)
            self._cache.account.give(self.code)

    def finish(self) -> None:
        """Mark the entry as complete, so that the next worker uses it.

        If jobs run as another account, that account can no longer change it.
        """
        if self._cache.account:
            self._cache.account.take_back(self.venv)
            self._cache.account.take_back(self.code)
        untrusted.put(self._folder.parent / _MARK, f"{self._folder.name} {self._cache.boot}".encode())
        # from exclusive to shared: other workers may use it now
        fcntl.flock(self._lock, fcntl.LOCK_SH)
        self._cache.sweep()

    def drop(self) -> None:
        """Remove the entry after a failure, so that it is never used."""
        shutil.rmtree(self._folder, ignore_errors=True)
        os.close(self._lock)

    def lay_out(self, target: str) -> None:
        """Copy the code, as its setup has left it. Raises `BundleError`."""
        account = self._cache.account
        try:
            if account is None:
                shutil.copytree(self.code, target, symlinks=True, dirs_exist_ok=True)
            else:
                os.makedirs(target, exist_ok=True)
                account.give(target)
                account.run(["cp", "-RPp", "--", f"{self.code}/.", target])
        except (OSError, shutil.Error) as error:
            raise BundleError(f"cannot copy the code that the setup has left: {error}") from error


def _locked(folder: Path, how: int) -> int:
    """Take the entry's lock as soon as it is free for this use.

    A lock whose file was removed in the meantime is no lock, so it is taken again.
    """
    while True:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            lock = untrusted.opened(folder / _LOCK, os.O_RDWR | os.O_CREAT)
        except FileNotFoundError:
            continue
        fcntl.flock(lock, how)
        if _is(folder / _LOCK, lock):
            return lock
        os.close(lock)


def _is(path: Path, lock: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(lock))
    except FileNotFoundError:
        return False


def _used(folder: Path) -> datetime:
    with suppress(OSError):
        return datetime.fromtimestamp((folder / _MARK).lstat().st_mtime, UTC)
    return datetime.fromtimestamp(folder.lstat().st_mtime, UTC)


def _remove(folder: Path) -> None:
    """Remove an entry, unless its lock is held."""
    try:
        lock = untrusted.opened(folder / _LOCK, os.O_RDWR)
    except OSError:
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    else:
        _remove_parts(folder)
        (folder / _LOCK).unlink()
        folder.rmdir()
    finally:
        os.close(lock)


def _remove_parts(folder: Path) -> None:
    """Remove all but the lock; the mark first, so that a half-removed entry is not used."""
    (folder / _MARK).unlink(missing_ok=True)
    for part in folder.iterdir():
        if part.is_dir() and not part.is_symlink():
            shutil.rmtree(part, ignore_errors=True)
        elif part.name != _LOCK:
            part.unlink()
