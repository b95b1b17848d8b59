"""The account of a job's processes: if the worker is root's, an account with fewer rights.

Root prepares the job's files and then gives them away, from the leaves up: they lie in folders that are still root's,
so no other account can put a link in root's way. Work in folders of the account is done as the account.
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
"""The account that is used if the machine has it and no setting names another."""

ROOT = "root"
_LIMIT_S = 600.0
UMASK = 0o022
"""The umask of what an account makes: as at a login, no matter what the bastion's is."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class UnixAccount:
    """An account other than root.

    name: its name.
    uid: its user id.
    gid: its main group id.
    groups: all groups that it belongs to; devices often belong to a group.
    home: its home folder.
    """

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]
    home: str

    @property
    def how(self) -> dict[str, Any]:
        """The arguments of `subprocess` that run a command as this account."""
        return {"user": self.uid, "group": self.gid, "extra_groups": self.groups, "umask": UMASK}

    def run(self, argv: Sequence[str]) -> None:
        """Run a command as this account. Raises `OSError` with its last words if it fails."""
        run_as(self, argv)

    def give(self, path: str) -> None:
        """Give away a file, or a folder and all below it, that only root could change until now."""
        if os.path.isdir(path) and not os.path.islink(path):
            for _, folders, files, descriptor in os.fwalk(path, topdown=False):
                for name in (*files, *folders):
                    os.chown(name, self.uid, self.gid, dir_fd=descriptor, follow_symlinks=False)
        os.chown(path, self.uid, self.gid, follow_symlinks=False)

    def take_back(self, path: str) -> None:
        """Make a folder of the account and all below it root's.

        The account may still read and run it, but never change it. A folder is closed before it is listed, so nothing
        can be added meanwhile. No link is followed, and files of other accounts stay as they are.
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
        """Make the file root's. Its group is the account's and keeps the account's rights, except writing."""
        found = os.fstat(file)
        if found.st_uid == self.uid:
            own = found.st_mode & 0o700
            os.fchown(file, 0, self.gid)
            os.fchmod(file, own | (own >> 3 & 0o050) | (found.st_mode & 0o005))

    def let_in(self, folder: str) -> None:
        """Let the account pass through a folder of root's, and no other account."""
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
    """Return the account of this name. Raises `RunnerError` if the machine has none."""
    try:
        found = pwd.getpwnam(name)
    except KeyError:
        raise RunnerError(f"this machine has no account {name!r} to run jobs as; create it, or change run_as") from None
    groups = tuple(os.getgrouplist(found.pw_name, found.pw_gid))
    return UnixAccount(found.pw_name, found.pw_uid, found.pw_gid, groups, found.pw_dir)


def chosen(run_as: str, uid: int, is_known: Callable[[str], bool]) -> str:
    """Return the account that jobs run as, from the setting `run_as` and a worker's `uid`; "" for the worker's own.

    Raises `RunnerError` for a choice that only root can make.
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
    """Return True if this machine has an account of this name."""
    try:
        return bool(pwd.getpwnam(name))
    except KeyError:
        return False


def name_of(uid: int) -> str:
    """Return the name of the account of this number, or the number if it has none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def home_of(uid: int) -> str:
    """Return the home of the account of this number; "" if it has none."""
    try:
        return pwd.getpwuid(uid).pw_dir
    except KeyError:
        return ""
