"""`launch` in this process, on a bastion's part of a folder."""

from __future__ import annotations

import json
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from bastion.cli.bastion.tool import TOOL as BASTION
from bastion.cli.launch.tool import TOOL
from bastion.cli.terminal.flags import Tool
from bastion.cli.terminal.main import run
from bastion.stores.local import LocalBucket
from bastion.stores.opening import PrefixedBucket

QUOTA = """
[toml-schema]
version = "1"
[total_resources]
v4 = 8
cpu = 4
v5litepod = 8
[project_membership]
nlp = ["alice", "bob"]
vision = ["bob"]
[project_resources.nlp]
v4 = 0.5
[project_resources.vision]
v4 = 0.5
"""


class Terminal(StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """It is."""
        return True


@dataclass
class Said:
    """What a command line answered."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as JSON."""
        return json.loads(self.out)

    @property
    def error(self) -> str:
        """The error, of a command with --json."""
        return str(json.loads(self.err.splitlines()[-1])["error"])


class Bench:
    """A bucket with a bastion that was created once and does not run."""

    def __init__(self, folder: Path, *, quota: str | None = QUOTA) -> None:
        self.bucket = PrefixedBucket(LocalBucket(f"file://{folder}", create=True), "b")
        self.bucket.write("config.toml", b"poll = 0.5\n")
        if quota is not None:
            self.bucket.write("project-quotas/project-quotas.config", quota.encode())
        self.home = folder.parent / "home"
        self.environ = {
            "BASTION_NAME": "b",
            "BASTION_BUCKET": f"file://{folder}",
            "XDG_CONFIG_HOME": str(self.home / "config"),
            "XDG_CACHE_HOME": str(self.home / "cache"),
        }

    def launch(self, *argv: str, terminal: bool = False) -> Said:
        """Run `launch` with these words; `terminal`: its output goes to one."""
        return self._run(TOOL, argv, Terminal() if terminal else StringIO())

    def bastion(self, *argv: str, terminal: bool = False) -> Said:
        """Run `bastion` with these words; `terminal` as above."""
        return self._run(BASTION, argv, Terminal() if terminal else StringIO())

    def submit(self, *words: str) -> Said:
        """Submit a job of alice's that needs no code."""
        return self.launch("--user_id=alice", "--bundler_type=none", *words)

    def objects(self) -> list[str]:
        """All there is in the bastion's part."""
        return [stat.key for stat in self.bucket.list("")]

    def _run(self, tool: Tool, argv: tuple[str, ...], out: StringIO) -> Said:
        err = StringIO()
        code = run(tool, argv, environ=self.environ, out=out, err=err)
        return Said(code, out.getvalue(), err.getvalue())
