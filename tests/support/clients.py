"""A bastion that ticks when a test says so, asked by nothing but `launch` and `bastion`."""

from __future__ import annotations

from io import StringIO

from bastion.cli.bastion import tool as bastion_tool
from bastion.cli.launch import tool as launch_tool
from bastion.cli.terminal.main import run
from bastion.platform.system import RandomIds
from bastion.stores.memory import MemoryBucket
from bastion.stores.opening import PrefixedBucket
from tests.support.bench import Said
from tests.support.town import Town

TOOLS = {"launch": launch_tool.TOOL, "bastion": bastion_tool.TOOL}
CONFIG = 'admins = ["root"]\npoll = 1.0\n'


class Asked(Town):
    """A town with its bastion's part of a bucket of this process."""

    def __init__(self, *files: tuple[str, str]) -> None:
        url = f"memory://{RandomIds().new()}"
        self.environ = {"BASTION_NAME": "b", "BASTION_BUCKET": url}
        super().__init__(("config.toml", CONFIG), *files, bucket=PrefixedBucket(MemoryBucket(url), "b"))

    def launch(self, *argv: str, user: str = "alice") -> Said:
        """Run `launch` with these words, as this user where it matters who asks."""
        anybodys = argv[0] in ("show", "why")
        return self.run("launch", *([] if anybodys else [f"--user_id={user}"]), *argv)

    def run(self, tool: str, *argv: str) -> Said:
        """Run one of our tools in this process."""
        out, err = StringIO(), StringIO()
        code = run(TOOLS[tool], argv, environ=self.environ, out=out, err=err)
        return Said(code, out.getvalue(), err.getvalue())
