"""Accounts of this machine that exist for a test: our tools are run as them, with a home and an umask of their own."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from tests.support.fleet import PATIENCE_S, TOOLS, Said

ROOT = os.geteuid() == 0
_READS = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")
"""The interpreter of a checkout may lie where no other account gets. So our tools may read everything, which lets them write
nothing more; what an account may read is asked of programs of the system, without this."""


@dataclass(frozen=True, slots=True)
class Person:
    """One account. `environ` is what it finds at its login."""

    name: str
    uid: int
    home: Path
    environ: Mapping[str, str]

    def tool(self, tool: str, *words: str, **more: str) -> Said:
        """One of our tools, to its end; `more` are variables."""
        return self._run([str(TOOLS / tool), *words], more, _READS)

    def run(self, *argv: str) -> Said:
        """A program of the system."""
        return self._run(list(argv), {}, ())

    def _run(self, argv: list[str], more: Mapping[str, str], rights: tuple[str, ...]) -> Said:
        as_them = ["setpriv", f"--reuid={self.uid}", f"--regid={self.uid}", "--init-groups", *rights, "--", *argv]
        return subprocess.run(
            as_them,
            env={**self.environ, **more},
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            umask=0o077,
            check=False,
        )


@contextmanager
def people(*names: str, group: str = "", environ: Mapping[str, str]) -> Iterator[list[Person]]:
    """Accounts of these names, with a word of chance, so that no other has them; members of the group, if one is said."""
    homes, made = Path(tempfile.mkdtemp(prefix="bastion-homes-")), list[str]()
    homes.chmod(0o755)
    try:
        found = []
        for name in names:
            account = f"{name}-{uuid4().hex[:8]}"
            extra = ["--groups", group] if group else []
            _system("useradd", "--create-home", "--base-dir", str(homes), "--user-group", *extra, account)
            made.append(account)
            row = pwd.getpwnam(account)
            own = {"HOME": row.pw_dir, "USER": account, "LOGNAME": account, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
            found.append(Person(account, row.pw_uid, Path(row.pw_dir), {**own, **environ}))
        yield found
    finally:
        for account in made:
            _system("userdel", account)
        shutil.rmtree(homes)


@contextmanager
def a_group() -> Iterator[str]:
    """A group that nobody is in yet."""
    name = f"lab-{uuid4().hex[:8]}"
    _system("groupadd", name)
    try:
        yield name
    finally:
        _system("groupdel", name)


def _system(*argv: str) -> None:
    """One of the system's programs for accounts, which wait for each other's lock."""
    said = subprocess.run(
        ["flock", "/tmp/bastion-tests-accounts.lock", *argv], capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert said.returncode == 0, said
