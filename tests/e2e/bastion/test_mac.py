"""A client on macOS, as far as Linux can pretend: it submits to a real bastion, looks, follows and stops."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.platforms import linux_only
from tests.house.test_platforms import clients
from tests.support.fleet import Fleet, Said

PRETEND = Path(__file__).resolve().parents[2] / "support" / "pretend_mac.py"
MODULES = ("errno", "fcntl", "mmap", "os", "posix", "resource", "select", "signal", "socket", "time")


def mac(fleet: Fleet, tool: str, *words: str) -> Said:
    """One of our tools on a Mac."""
    missing = json.dumps({name: sorted(linux_only(name)) for name in MODULES})
    argv = [sys.executable, "-I", str(PRETEND), tool, *words]
    environ = {**fleet.environ, "MISSING": missing}
    return subprocess.run(argv, env=environ, cwd=fleet.folder, capture_output=True, text=True, timeout=300)


@pytest.fixture
def here(tmp_path: Path) -> Fleet:
    return Fleet(tmp_path)


def test_every_module_of_a_client_can_be_imported(here: Fleet) -> None:
    rooms = ("bastion", "bundler", "launcher", "quota")
    names = [
        module.name for module in clients() if module.room in rooms or module.name.startswith("bastion.cli.launch.tool")
    ]
    said = mac(here, "import", *names)
    assert (said.returncode, said.stderr) == (0, "")


@pytest.mark.parametrize("tool", ["launch", "bastion"])
def test_help_is_the_same_as_on_linux(here: Fleet, tool: str) -> None:
    said = mac(here, tool, "--help")
    assert (said.returncode, said.stderr) == (0, "")
    assert said.stdout == here.run(tool, "--help").stdout


def test_a_job_goes_the_whole_way_from_a_mac(here: Fleet) -> None:
    (here.folder / "code").mkdir()
    (here.folder / "code" / "hello.sh").write_text("echo hello from $BASTION_JOB_NAME\n")
    here.create()
    try:
        source = f"--bundler_spec=source={here.folder / 'code'}"
        said = mac(here, "launch", "--name=m", "--resources=v4=1", source, "--follow", "--", "sh", "hello.sh")
        assert (said.returncode, said.stdout.splitlines()) == (0, ["hello from m", "m"]), said.stderr
        listed = mac(here, "launch", "ls", "--all", "--json")
        assert [job["state"] for job in json.loads(listed.stdout)["jobs"]] == ["SUCCEEDED"], listed.stderr
        assert "hello from m" in mac(here, "launch", "logs", "m", "--no_follow").stdout
        assert "is SUCCEEDED" in mac(here, "launch", "why", "m").stdout
        assert mac(here, "launch", "show", "m").returncode == 0
        assert mac(here, "bastion", "status").returncode == 0
        assert mac(here, "launch", "wait", "m").returncode == 0
    finally:
        here.run("bastion", "delete", "--force", "--yes")
