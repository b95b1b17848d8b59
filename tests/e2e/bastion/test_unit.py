"""The unit by which systemd keeps a bastion: read by systemd's own checker, and played by a stand-in of systemctl."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.fleet import PATIENCE_S, Fleet, until

SYSTEMCTL = f'''#!{sys.executable}
"""Does what systemd does with a unit of Type=notify, and notes what it was asked."""
import json, os, shlex, socket, subprocess, sys
from pathlib import Path

folder = Path({{folder!r}})
words = [word for word in sys.argv[1:] if word != "--user"]
with (folder / "asked").open("a") as asked:
    print(json.dumps(sys.argv[1:]), file=asked)
if words[0] == "is-active":
    sys.exit(0 if (folder / "active").exists() else 3)
if words[0] == "enable" and not (folder / "active").exists():
    unit = Path({{units!r}}, words[-1]).read_text()
    lines = [line.partition("=")[::2] for line in unit.splitlines() if "=" in line]
    environ = {{{{"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "NOTIFY_SOCKET": str(folder / "notify")}}}}
    environ |= dict(shlex.split(value)[0].split("=", 1) for key, value in lines if key == "Environment")
    (argv,) = [shlex.split(value) for key, value in lines if key == "ExecStart"]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as way:
        way.bind(environ["NOTIFY_SOCKET"])
        out = (folder / "output").open("ab")
        subprocess.Popen(argv, env=environ, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)
        way.settimeout({PATIENCE_S})
        (folder / "active").write_bytes(way.recv(100))
'''


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    """A bastion of a name that no unit of this machine has, and a systemctl in front of all others."""
    fleet = Fleet(tmp_path)
    name = f"unit-{uuid.uuid4().hex[:12]}"
    fleet.root = fleet.bucket / name
    fleet.environ["BASTION_NAME"] = name
    units = Path("/etc/systemd/system") if os.geteuid() == 0 else tmp_path / "config" / "systemd" / "user"
    programs = tmp_path / "programs"
    programs.mkdir()
    script = programs / "systemctl"
    script.write_text(SYSTEMCTL.format(folder=str(tmp_path), units=str(units)))
    script.chmod(0o755)
    fleet.environ["PATH"] = f"{programs}:{fleet.environ['PATH']}"
    yield fleet
    fleet.close()
    (units / f"bastion-{name}.service").unlink(missing_ok=True)


def asked(fleet: Fleet) -> list[list[str]]:
    """What systemctl was asked for, without --user."""
    lines = (fleet.folder / "asked").read_text().splitlines()
    return [[word for word in json.loads(line) if word != "--user"] for line in lines]


def create(fleet: Fleet, *words: str) -> subprocess.CompletedProcess[str]:
    return fleet.run("bastion", "create", "--local", "--capacity=v4=8", "--poll=0.1", *words)


def test_systemd_reads_the_unit_without_a_complaint(fleet: Fleet) -> None:
    assert create(fleet).returncode == 0
    shown = fleet.ask("bastion", "unit")
    assert fleet.run("bastion", "unit").stdout == shown["text"]
    file = fleet.folder / shown["name"]
    file.write_text(shown["text"])
    said = subprocess.run(["systemd-analyze", "verify", "--man=no", str(file)], capture_output=True, text=True)
    assert (said.returncode, said.stdout, [line for line in said.stderr.splitlines() if shown["name"] in line]) == (
        0,
        "",
        [],
    ), said


def test_a_bastion_is_installed_as_a_unit_and_told_to_systemd(fleet: Fleet) -> None:
    said = create(fleet, "--systemd")
    assert said.returncode == 0, said
    name = f"bastion-{fleet.environ['BASTION_NAME']}.service"
    assert asked(fleet) == [["is-active", "--quiet", name], ["daemon-reload"], ["enable", "--now", name]]
    assert (fleet.folder / "active").read_bytes() == b"READY=1"
    assert f"journalctl --unit={name}" in said.stderr
    job = fleet.submit("job", run="env")
    assert fleet.wait(job) == 0
    assert not [line for line in fleet.log(job).splitlines() if line.startswith("NOTIFY_SOCKET=")]

    again = create(fleet, "--systemd")
    assert again.returncode == 0, again
    assert "already runs" in again.stdout
    assert fleet.run("bastion", "stop").returncode == 0
    until(lambda: fleet.ask("bastion", "status")["state"] == "stopped")


def test_a_bastion_in_the_background_is_stopped_first(fleet: Fleet) -> None:
    assert create(fleet).returncode == 0
    said = create(fleet, "--systemd")
    assert (said.returncode, "runs in the background, not under systemd; run bastion stop first" in said.stderr) == (
        2,
        True,
    )


def test_the_unit_of_another_bastion_is_left_alone(fleet: Fleet) -> None:
    assert create(fleet, "--systemd").returncode == 0
    said = create(fleet, "--systemd", f"--bucket=file://{fleet.folder}/another")
    assert (said.returncode, "starts another bastion" in said.stderr) == (2, True)


def test_without_systemctl_it_says_where_the_unit_belongs(fleet: Fleet, tmp_path: Path) -> None:
    fleet.environ["PATH"] = str(tmp_path / "none")
    said = create(fleet, "--systemd")
    assert said.returncode == 2
    assert not fleet.root.exists(), "nothing was stored"
    assert "this machine has no systemctl; bastion unit prints the unit, which belongs in /" in said.stderr
