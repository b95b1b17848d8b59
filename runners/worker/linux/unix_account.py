"""Whose a job's processes are: where the worker is root's, those of an account that may do less.

Root lays out what the job finds and then gives it away, from the leaves up: what is given stands in folders that are
still root's, so nobody can put a link into root's way. What lies in folders of the account is done as the account.
"""

from __future__ import annotations

import os
import pwd
import stat
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bastion.model.errors import RunnerError

DEDICATED = "bastion-job"
"""The account that is taken where a machine has it and nobody says otherwise."""

ROOT = "root"
_LIMIT_S = 600.0
UMASK = 0o022
"""Of what an account makes: as at a login, whatever the bastion's is."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class UnixAccount:
    """One that is not root's. `groups` are all that it belongs to: devices are often a group's."""

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]
    home: str

    @property
    def how(self) -> dict[str, Any]:
        """For `subprocess`: as this account."""
        return {"user": self.uid, "group": self.gid, "extra_groups": self.groups, "umask": UMASK}

    def run(self, argv: Sequence[str]) -> None:
        """Run a command as this account. Raises `OSError` with its last words if it fails."""
        run_as(self, argv)

    def give(self, path: str) -> None:
        """Give away a file, or a folder and all below it, that only root could change so far."""
        if os.path.isdir(path) and not os.path.islink(path):
            for _, folders, files, descriptor in os.fwalk(path, topdown=False):
                for name in (*files, *folders):
                    os.chown(name, self.uid, self.gid, dir_fd=descriptor, follow_symlinks=False)
        os.chown(path, self.uid, self.gid, follow_symlinks=False)

    def take_back(self, path: str) -> None:
        """Make a folder of the account's and all below it root's, for the account to read and to run, and never to change.

        A folder is closed before it is listed, so nothing comes into it meanwhile; no link is followed, and what is not the
        account's own is left as it is.
        """
        self._take_back(os.open(path, _FOLDER))

    def _take_back(self, folder: int) -> None:
        try:
            self._close(folder)
            for name in os.listdir(folder):
                kind = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
                if stat.S_ISDIR(kind):
                    self._take_back(os.open(name, _FOLDER, dir_fd=folder))
                elif stat.S_ISREG(kind):
                    file = os.open(name, _FILE, dir_fd=folder)
                    try:
                        self._close(file)
                    finally:
                        os.close(file)
        finally:
            os.close(folder)

    def _close(self, file: int) -> None:
        """Root's; its group is the account's, and may do what the account could, but write."""
        found = os.fstat(file)
        if found.st_uid == self.uid:
            own = found.st_mode & 0o700
            os.fchown(file, 0, self.gid)
            os.fchmod(file, own | (own >> 3 & 0o050) | (found.st_mode & 0o005))

    def let_in(self, folder: str) -> None:
        """Let the account pass through a folder of root's, and nobody else."""
        os.chown(folder, -1, self.gid)
        os.chmod(folder, 0o710)


def run_as(account: UnixAccount | None, argv: Sequence[str], folder: str = "/") -> None:
    """Run a command in a folder as this account, or as ourselves. Raises `OSError` with its last words if it fails."""
    how, whose = (account.how, f" (as {account.name})") if account else ({}, "")
    try:
        subprocess.run(argv, check=True, capture_output=True, timeout=_LIMIT_S, cwd=folder, env={}, **how)
    except subprocess.CalledProcessError as error:
        raise OSError(f"{error.stderr.decode('utf-8', 'replace').strip()[-500:]}{whose}") from error
    except subprocess.TimeoutExpired as error:
        raise OSError(f"{argv[0]} took more than {_LIMIT_S:.0f} s{whose}") from error


def account(name: str) -> UnixAccount:
    """The account of this name. Raises `RunnerError` if the machine has none."""
    try:
        found = pwd.getpwnam(name)
    except KeyError:
        raise RunnerError(f"this machine has no account {name!r} to run jobs as; create it, or change run_as") from None
    groups = tuple(os.getgrouplist(found.pw_name, found.pw_gid))
    return UnixAccount(found.pw_name, found.pw_uid, found.pw_gid, groups, found.pw_dir)


def chosen(run_as: str, uid: int, is_known: Callable[[str], bool]) -> str:
    """The account that jobs run as, of the setting `run_as` and a worker of this `uid`; "": as the worker itself.

    Raises `RunnerError` for what only root can do.
    """
    if run_as == name_of(uid):
        return ""
    if uid != 0 and run_as:
        raise RunnerError(
            f"run_as is {run_as!r}, and only root can run jobs as others; start as root, or leave run_as out"
        )
    if run_as:
        return "" if run_as == ROOT else run_as
    return DEDICATED if uid == 0 and is_known(DEDICATED) else ""


def is_known(name: str) -> bool:
    """True if this machine has an account of this name."""
    try:
        return bool(pwd.getpwnam(name))
    except KeyError:
        return False


def name_of(uid: int) -> str:
    """The account of this number by its name, or by the number if it has none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def home_of(uid: int) -> str:
    """The home of the account of this number; "" if it has none."""
    try:
        return pwd.getpwuid(uid).pw_dir
    except KeyError:
        return ""
