"""Where a page is played: a home folder of its own with one shell in it, and nothing left of either afterwards."""

from __future__ import annotations

import os
import select
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import psutil

DEMO = Path(__file__).resolve().parents[1] / "demo"
PROPS = ("train.py", "quota.toml")
TOOLS = Path(sys.executable).parent
HOME = "/home/ada"
"""What pages show for the home folder, whatever its real name."""

_DESERTED = "trap 'bastion delete --force --yes >/dev/null 2>&1' EXIT\n"
"""For a shell whose player was killed: it reads the end of its input, and ends what the page had started."""

PATIENCE_S = 180.0
CURTAIN_S = 60.0


class StageError(Exception):
    """The shell ended, or a command did not."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a command printed on both streams, line by line, and its exit code."""

    lines: tuple[str, ...]
    code: int


class Stage:
    """One shell: what is exported or where it stands stays from one command to the next."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._shell = subprocess.Popen(
            ["bash", "--norc", "--noprofile"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=home / "demo",
            env=_environ(home),
            start_new_session=True,
        )
        self._type(_DESERTED)

    def run(self, command: str) -> Said:
        """Type a command and wait for its end. Raises `StageError`."""
        mark = f"ended-{uuid4().hex}"
        typed = f"eval {shlex.quote(command)} </dev/null; _code=$?; printf '\\n{mark} %d\\n' $_code; (exit $_code)\n"
        self._type(typed)
        printed, _, code = self._read(f"\n{mark} ").partition(f"\n{mark} ")
        text = printed.replace(str(self._home), HOME)
        return Said(tuple(text.splitlines()), int(code))

    def processes(self) -> list[psutil.Process]:
        """All that was started here and still is: this home is in their environment."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get("HOME") == str(self._home):
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def leave(self) -> list[str]:
        """End the shell, and whatever did not end by itself soon after it: their command lines."""
        assert self._shell.stdin is not None
        if not self._shell.stdin.closed:
            with suppress(BrokenPipeError):  # the page ended the shell itself
                self._type("trap - EXIT\n")
            with suppress(BrokenPipeError):
                self._shell.stdin.close()
        _, left = psutil.wait_procs(self.processes(), timeout=CURTAIN_S)
        lines = [line for process in left if (line := _command(process))]
        while left := self.processes():
            for process in left:
                with suppress(psutil.Error):  # it has ended by now
                    process.kill()
            psutil.wait_procs(left, timeout=CURTAIN_S)
        self._shell.wait()
        assert self._shell.stdout is not None
        self._shell.stdout.close()
        return lines

    def _type(self, text: str) -> None:
        assert self._shell.stdin is not None
        self._shell.stdin.write(text.encode())
        self._shell.stdin.flush()

    def _read(self, mark: str) -> str:
        """What is printed up to the mark and the end of its line."""
        assert self._shell.stdout is not None
        deadline = time.monotonic() + PATIENCE_S
        printed = b""
        while mark.encode() not in printed or not printed.endswith(b"\n"):
            ready, _, _ = select.select([self._shell.stdout], [], [], max(0.0, deadline - time.monotonic()))
            more = os.read(self._shell.stdout.fileno(), 65536) if ready else b""
            if not more:
                what = "the shell ended" if ready else f"it has not ended after {PATIENCE_S:.0f} s"
                raise StageError(f"{what}; it printed\n{printed.decode(errors='replace')}")
            printed += more
        return printed.decode(errors="replace")


@contextmanager
def stage() -> Iterator[Stage]:
    """A stage; the shell begins in its folder `demo`, where the props of the demo lie. All that was started on it is ended."""
    with tempfile.TemporaryDirectory(prefix="bastion-page-", ignore_cleanup_errors=True) as folder:
        home = Path(folder).resolve() / "home"
        (home / "demo").mkdir(parents=True)
        for name in PROPS:
            shutil.copy(DEMO / name, home / "demo" / name)
        here = Stage(home)
        try:
            yield here
        finally:
            here.leave()


def _command(process: psutil.Process) -> str:
    """Its command line; empty, if it has ended by now."""
    try:
        return shlex.join(process.cmdline())
    except psutil.Error:
        return ""


def _environ(home: Path) -> dict[str, str]:
    """All that the shell knows: nothing of who plays the page."""
    return {
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "LOGNAME": "ada",
        "NO_COLOR": "1",
        "PATH": os.pathsep.join([str(TOOLS), os.defpath, "/usr/local/bin"]),
        "TMPDIR": str(home.parent),
        "TZ": "UTC",
        "USER": "ada",
    }
