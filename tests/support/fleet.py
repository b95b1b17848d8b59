"""A real bastion on a folder, driven by nothing but our two console scripts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import StringIO
from pathlib import Path
from typing import Any

import psutil

from bastion.cli.bastion import tool as bastion
from bastion.cli.launch import tool as launch
from bastion.cli.terminal import main
from bastion.testing import fleets

TOOLS = Path(sys.executable).parent
PATIENCE_S = 180.0
LOOKS = {"bastion": bastion.TOOL, "launch": launch.TOOL}
QUICK = ("--poll=0.1", "--reclaim_delay=0")

Said = subprocess.CompletedProcess[str]


class Fleet:
    """Our tools, with one bucket and one state folder of their own. `tools` is where the scripts of this version lie."""

    def __init__(self, folder: Path, bucket: Path | None = None) -> None:
        self.folder = folder
        self.tools = TOOLS
        self.bucket = bucket or folder / "bucket"
        self.root = self.bucket / "demo"
        self.environ = {
            **{key: value for key, value in os.environ.items() if not key.startswith("BASTION_")},
            "BASTION_NAME": "demo",
            "BASTION_BUCKET": f"file://{self.bucket}",
            "XDG_STATE_HOME": str(folder / "state"),
            "XDG_CONFIG_HOME": str(folder / "config"),
            "XDG_CACHE_HOME": str(folder / "cache"),
        }

    def popen(self, tool: str, *words: str, **how: Any) -> subprocess.Popen[str]:
        """One of our tools in the background, its output in pipes."""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        options = {"env": self.environ, "cwd": self.folder, "text": True, **pipes, **how}
        return subprocess.Popen([str(self.tools / tool), *words], **options)

    @contextmanager
    def running(self, tool: str, *words: str, **how: Any) -> Iterator[subprocess.Popen[str]]:
        """One of our tools in the background, and ended by SIGTERM at the latest when the test is done with it."""
        with self.popen(tool, *words, **how) as process:
            try:
                yield process
            finally:
                process.terminate()
                process.communicate(timeout=PATIENCE_S)

    def run(self, tool: str, *words: str, **how: Any) -> Said:
        """One of our tools, to its end."""
        with self.popen(tool, *words, **how) as process:
            try:
                out, err = process.communicate(timeout=PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        return Said(process.args, process.returncode, out, err)

    def look(self, tool: str, *words: str) -> Said:
        """A command that only looks, as it is run by its console script, but in this process: a test that waits looks often,
        and a process for each look would leave what it waits for no processor. Where it would need another one, it gets it.
        """
        plain = type(self).popen is Fleet.popen and self.tools == TOOLS
        if not plain or not self.environ.get("BASTION_BUCKET", "").startswith("file://"):
            return self.run(tool, *words)
        out, err = StringIO(), StringIO()
        code = main.run(LOOKS[tool], words, environ=self.environ, out=out, err=err)
        return Said([tool, *words], code, out.getvalue(), err.getvalue())

    def ask(self, tool: str, *words: str) -> Any:
        """The JSON that a command prints."""
        said = (self.look if words[0] in ("ls", "show", "status") else self.run)(tool, *words, "--json")
        assert said.returncode == 0, said
        return json.loads(said.stdout)

    def create(self, *words: str) -> Any:
        """A bastion of 8 units of v4 that ticks fast."""
        return self.ask("bastion", "create", "--local", "--capacity=v4=8", *QUICK, *words)

    def set_quota(self, text: str) -> Said:
        """Put a quota file in force, and return when the bastion goes by it."""
        file = self.folder / "quota.toml"
        file.write_text(text)
        said = self.run("bastion", "quota", "set", str(file), "--yes")
        assert said.returncode == 0, said
        until(lambda: any(event["text"].startswith(text) for event in self.events("FileChanged")))
        return said

    def submit(self, name: str, *flags: str, run: str) -> str:
        """A job of one shell text that takes one unit of v4, unless the flags say more. Its id."""
        defaults = [] if any(flag.startswith(("--resources", "--instance_type")) for flag in flags) else ["v4=1"]
        resources = [f"--resources={amount}" for amount in defaults]
        usual = [f"--name={name}", "--bundler_type=none", "--grace=60s", "--json", *resources]
        said = self.run("launch", *usual, *flags, "--", "/bin/sh", "-c", run)
        assert said.returncode == 0, said
        return str(json.loads(said.stdout)["id"])

    def jobs(self) -> list[Any]:
        """Everybody's jobs."""
        return list(self.ask("launch", "ls", "--all")["jobs"])

    def job(self, job: str) -> Any:
        """One job, by its name or id: all that `launch show` says of it."""
        return self.ask("launch", "show", job)

    def wait(self, job: str) -> int:
        """The exit code of a job's end."""
        return self.run("launch", "wait", job, f"--timeout={PATIENCE_S:.0f}s").returncode

    def log(self, job: str, *words: str) -> str:
        """What a job printed so far, without our line about files that it left in its working folder."""
        said = self.look("launch", "logs", job, "--no_follow", *words).stdout
        return "".join(line for line in said.splitlines(keepends=True) if " not kept: " not in line)

    def until_known(self, job: str) -> None:
        """Return once a job that was requested by another hand can be asked for."""
        until(lambda: self.look("launch", "show", job).returncode == 0)

    def await_state(self, job: str, state: str) -> None:
        """Return once a job stands there."""
        until(lambda: self.job(job)["state"] == state)

    def put(self, key: str, data: bytes) -> None:
        """An object by another hand than ours, straight into the folder."""
        path = self.root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        half = self.folder / "half-written"
        half.write_bytes(data)
        half.replace(path)

    def events(self, kind: str) -> list[Any]:
        """All events of one kind in the journal, oldest first."""
        objects = [json.loads(file.read_bytes()) for file in sorted((self.root / "journal").glob("*.json"))]
        return [event for each in objects for event in each["events"] if event["event"] == kind]

    def problems(self) -> list[str]:
        """What the bastion says is wrong."""
        return list(self.ask("bastion", "status")["problems"])

    def processes(self, job: str = "") -> list[psutil.Process]:
        """All processes that were started for this fleet, or by this job of it: their environment says so.

        One that has ended has none, though nobody may have asked how.
        """
        found = []
        for process in psutil.process_iter():
            try:
                environ = process.environ()
            except psutil.Error:
                continue
            if any(str(self.folder) in value for value in environ.values()) and job in environ.get("BASTION_JOB", ""):
                found.append(process)
        return found

    def close(self) -> None:
        """End everything by the tool itself; nothing may be left."""
        said = self.run("bastion", "delete", "--force", "--yes")
        deadline = time.monotonic() + PATIENCE_S
        while (left := self.processes()) and time.monotonic() < deadline:
            time.sleep(0.05)
        for process in left:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        assert not left, (left, said)


def files(folder: Path) -> Iterator[Path]:
    """All files below a folder. What goes while one looks is left out."""
    for above, _, names in os.walk(folder):
        yield from (path for name in names if (path := Path(above, name)).is_file())


def until(condition: Callable[[], bool]) -> None:
    """Return once it is true."""
    fleets.until(condition, "what the test waits for")
