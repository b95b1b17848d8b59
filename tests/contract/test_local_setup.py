"""Setups on a real machine: run once, in a virtual environment that later attempts find, and never half of it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from bastion.bundler.tar import TarBundler
from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.interfaces import AttemptKey
from bastion.model.job.spec import BundleRef
from bastion.model.state.state import Cause
from bastion.model.stored.records import Peer, Peers
from bastion.platform.system import SystemClock
from bastion.testing.stage import KEY, OTHER, Stage
from tests.contract.local_fleet import LocalFleet

NEXT = AttemptKey(KEY.job, 0, 1)
PACKAGE = """
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"
[project]
name = "tiny"
version = "1.0"
[tool.setuptools]
py-modules = ["tiny"]
"""
SEES = "import sys; sys.prefix != sys.base_prefix or exit(4); import tiny; print(tiny.__file__)"


@pytest.fixture
def quick(tmp_path: Path) -> dict[str, str]:
    """A PATH whose `python3` makes empty environments at once, for tests that are about something else."""
    program = tmp_path / "bin" / "python3"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nmkdir -p "$4/bin"\n')
    program.chmod(0o755)
    return {"PATH": f"{program.parent}:{os.environ['PATH']}"}


def packed(fleet: LocalFleet, source: Path) -> BundleRef:
    bundle = TarBundler(home=source.parent / "home", clock=SystemClock()).bundle(source, fleet.bucket)
    return BundleRef(type="tar", key=bundle.key, digest=bundle.digest)


def cached(fleet: LocalFleet) -> list[Path]:
    """What is whole or in the making."""
    return list((fleet.folder / "work" / "cache").glob("*/*/venv"))


def test_a_package_is_installed_once_and_found_by_every_attempt(fleet: LocalFleet, tmp_path: Path) -> None:
    """Without an index: what pip needs to build it is here."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "pyproject.toml").write_text(PACKAGE)
    (source / "tiny.py").write_text("")
    (source / "train.py").write_text(f"import os\nos.chdir('/')\n{SEES}\n")
    site = next(path for path in map(Path, sys.path) if (path / "setuptools").is_dir())
    setup = (
        f"PYTHONPATH={site} pip install --quiet --no-index --no-build-isolation . && rm tiny.py && echo made >> made"
    )
    stage = Stage(fleet)
    command = "cat made && test ! -e tiny.py && python train.py && which python"
    for key in (KEY, NEXT):
        stage.start(command, key, bundle=packed(fleet, source), setup=setup)
        facts = stage.ended(key)
        assert facts.cause is Cause.OK, stage.log(key)
    (entry,) = cached(fleet)
    assert stage.log(KEY).startswith("[bastion] setup: PYTHONPATH=")
    lines = stage.log(NEXT).splitlines()
    assert lines[:2] == ["[bastion] the setup was run before on this machine, for this code", "made"]
    assert lines[2].startswith(str(entry))
    assert lines[3] == str(entry / "bin" / "python")


def test_a_setup_sees_what_the_command_will_see(fleet: LocalFleet, quick: dict[str, str]) -> None:
    stage = Stage(fleet)
    stage.start("env", env={**quick, "GREETING": "hi"}, setup="env > seen")
    assert stage.ended().cause is Cause.OK
    command = dict(line.split("=", 1) for line in stage.log().splitlines() if "=" in line)
    (seen,) = (fleet.folder / "work" / "cache").glob("*/*/code/seen")
    setup = dict(line.split("=", 1) for line in seen.read_text().splitlines())
    only_later = {"MASTER_ADDR", "MASTER_PORT", "JAX_COORDINATOR_ADDRESS"}
    for place in (command, setup):
        place.pop("PWD", None)
        place.pop("OLDPWD", None)
        place.pop("SHLVL", None)  # bash leaves itself out of the count where it becomes the last command
    assert command.keys() - setup.keys() == only_later
    assert setup == {name: command[name] for name in setup}
    assert command["PATH"].startswith(f"{command['VIRTUAL_ENV']}/bin:{quick['PATH']}")


def test_command_and_setup_run_in_the_shell_of_the_job(fleet: LocalFleet, quick: dict[str, str]) -> None:
    stage = Stage(fleet)
    stage.start("[[ -e made ]] && echo $0", env=quick, setup="[[ a == a ]] && touch made", shell="bash")
    assert stage.ended().cause is Cause.OK, stage.log()
    assert stage.log().splitlines()[-1].endswith("bash")
    stage.start("[ -e made ] && echo ${BASH_VERSION:-none}", OTHER, env=quick, setup="touch made", shell="sh")
    assert stage.ended(OTHER).cause is Cause.OK, stage.log(OTHER)
    assert stage.log(OTHER).splitlines()[-1] == "none"


def test_a_shell_that_the_machine_does_not_have_fails_the_setup(fleet: LocalFleet, quick: dict[str, str]) -> None:
    only = quick["PATH"].partition(":")[0]
    stage = Stage(fleet)
    stage.start("echo never", env={"PATH": only}, shell="bash")
    facts = stage.ended()
    assert (facts.cause, facts.exit_code) == (Cause.SETUP, None)
    assert facts.message.startswith("there is no bash on this machine")


def test_workers_of_one_machine_wait_for_one_setup(fleet: LocalFleet, quick: dict[str, str], tmp_path: Path) -> None:
    stage = Stage(fleet)
    setup = f"echo ran >> {tmp_path}/ran; sleep 0.5; echo whole > whole"
    stage.start("cat whole", env=quick, setup=setup, workers=3)
    peers = Peers(members=[Peer(address="127.0.0.1", port=4000 + worker) for worker in range(3)])
    stage.bucket.create(layout.peers(KEY), encode(peers))
    for worker in range(3):
        assert stage.ended(worker=worker).cause is Cause.OK
    assert (tmp_path / "ran").read_text() == "ran\n"
    stage.start("cat whole", OTHER, env=quick, setup=f"{setup}; # another text")
    assert stage.ended(OTHER).cause is Cause.OK
    assert (tmp_path / "ran").read_text() == "ran\nran\n"


def test_a_setup_that_fails_says_why_and_is_tried_anew(
    fleet: LocalFleet, quick: dict[str, str], tmp_path: Path
) -> None:
    stage = Stage(fleet)
    setup = f"echo first; test -e {tmp_path}/mended || {{ echo 'no such package: torhc' >&2; exit 7; }}"
    stage.start("echo never", env=quick, setup=setup)
    facts = stage.ended()
    assert (facts.cause, facts.exit_code) == (Cause.SETUP, None)
    assert facts.message == "the setup ended with exit code 7: first | no such package: torhc"
    assert "\nfirst\nno such package: torhc\n" in stage.log()
    assert "never" not in stage.log()
    assert not cached(fleet)
    (tmp_path / "mended").touch()
    stage.start("echo now", NEXT, env=quick, setup=setup)
    assert stage.ended(NEXT).cause is Cause.OK


def test_a_machine_without_python_is_told(fleet: LocalFleet, tmp_path: Path) -> None:
    stage = Stage(fleet)
    stage.start("echo never", env={"PATH": str(tmp_path)}, setup="true")
    facts = stage.ended()
    assert facts.cause is Cause.SETUP
    assert "python3" in facts.message


def test_a_worker_that_falls_in_the_middle_leaves_nothing_half_usable(
    fleet: LocalFleet, quick: dict[str, str], tmp_path: Path
) -> None:
    stage = Stage(fleet)
    setup = f"echo half > half; echo $$ >> {tmp_path}/pids; test -e {tmp_path}/go || exec sleep 600"
    stage.start("cat half", env=quick, setup=setup)
    pids = tmp_path / "pids"
    fleet.until(lambda: pids.exists() and pids.read_text().endswith("\n"), "the setup")
    fleet.crash_worker(stage.machine().id)
    (tmp_path / "go").touch()
    stage.start("cat half", NEXT, env=quick, setup=setup)
    assert stage.ended(NEXT).cause is Cause.OK
    assert "run before" not in stage.log(NEXT)
    assert len(pids.read_text().split()) == 2
    assert len(cached(fleet)) == 1


def test_a_stop_reaches_the_setup_with_its_grace_and_who_waits_for_it(
    fleet: LocalFleet, quick: dict[str, str], tmp_path: Path
) -> None:
    stage = Stage(fleet)
    setup = f"trap 'echo told; exit 9' TERM; touch {tmp_path}/begun; while :; do sleep 0.05; done"
    stage.start("echo never", env=quick, setup=setup)
    fleet.until(lambda: (tmp_path / "begun").exists(), "the setup")
    stage.start("echo never", NEXT, env=quick, setup=setup)
    fleet.until(lambda: (facts := stage.facts(NEXT)) is not None and facts.phase == "setup", "the second worker")
    stage.stop(Cause.CANCELLED, grace_s=30, key=NEXT)
    assert stage.ended(NEXT).cause is Cause.CANCELLED
    assert "told" not in stage.log().splitlines()  # its own text is in the log, as soon as that is stored
    stage.stop(Cause.PREEMPTED, grace_s=30)
    facts = stage.ended()
    assert (facts.cause, facts.exit_code) == (Cause.PREEMPTED, None)
    assert stage.log().endswith("\ntold\n")
    assert not cached(fleet)


def test_a_setup_counts_against_the_time_limit(fleet: LocalFleet, quick: dict[str, str]) -> None:
    stage = Stage(fleet)
    stage.start("echo never", env=quick, setup="(setsid sleep 600 &); sleep 600", time_limit_s=1.0, grace_s=0.5)
    facts = stage.ended()  # and nothing of it is left, or its machine would not be gone
    assert (facts.cause, facts.message) == (Cause.TIME_LIMIT, "the time limit of 1 s is over")


def test_the_command_runs_in_a_copy(fleet: LocalFleet, quick: dict[str, str]) -> None:
    stage = Stage(fleet)
    for key in (KEY, NEXT):
        stage.start("cat counter; echo 2 > counter", key, env=quick, setup="echo 1 > counter")
        assert stage.ended(key).cause is Cause.OK
        assert stage.log(key).splitlines()[-1] == "1"
