"""Packages of others that name what the page on writing a runner named go on working, and nobody's own module is taken."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bastion.former import MOVED, RENAMED

PROMISED = """
from bastion.buckets.local import LocalBucket
from bastion.config import Config
from bastion.errors import RunnerError
from bastion.ground import Ground
from bastion.ports import AttemptKey, Placement, Runner
from bastion.system import RandomIds, SystemClock, ThreadTasks
from bastion_testing.fleets import ProcessFleet, sealing
from bastion_testing.runner_contract import RunnerContract
from runners.local.registry import Entry, Registry
from runners.local.runner import LocalRunner
"""
"""All imports of ours on that page, as it was for the recorded version 0.1.0."""


def told(code: str, folder: Path) -> list[str]:
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=180)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_what_was_promised_is_what_it_is_now(tmp_path: Path) -> None:
    same = "from bastion.runners.local.runner import LocalRunner as now\nprint(LocalRunner is now, now.__module__)"
    assert told(PROMISED + same, tmp_path) == ["True bastion.runners.local.runner"]


def test_each_answers_with_the_very_module(tmp_path: Path) -> None:
    """Asked from a folder that is no checkout: there the folders of the rooms have some of these names."""
    code = """
import bastion
from bastion.former import MOVED
from importlib import import_module
for former in MOVED:
    found = import_module(former)
    print(found is import_module(MOVED[former]), found.__name__, found.__spec__.name)
"""
    assert told(code, tmp_path) == [f"True {now} {now}" for now in MOVED.values()]


def test_a_name_of_then_is_what_has_another_name_now(tmp_path: Path) -> None:
    code = """
import bastion
from bastion.former import MOVED, RENAMED
from importlib import import_module
for former, now in MOVED.items():
    module = import_module(former)
    print(*(getattr(module, old) is getattr(module, new) for old, new in RENAMED.get(now, {}).items()), now)
"""
    lines = [line.split() for line in told(code, tmp_path)]
    assert {now: len(same) for *same, now in lines if same} == {now: len(names) for now, names in RENAMED.items()}
    assert {word for *same, _ in lines for word in same} == {"True"}


def test_what_could_not_be_told_has_its_former_name_too(tmp_path: Path) -> None:
    code = "import bastion\nfrom bastion.ports import Sight\nprint(Sight.BLIND is Sight.UNREACHABLE, Sight.BLIND.value)"
    assert told(code, tmp_path) == ["True blind"]


def test_a_package_of_their_own_keeps_its_name_and_what_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "runners").mkdir()
    (tmp_path / "runners" / "__init__.py").write_text("mine = True\n")
    code = "import bastion, runners\nprint(runners.mine)\ntry: import runners.local\nexcept ModuleNotFoundError as e: print(e)"
    assert told(code, tmp_path) == ["True", "No module named 'runners.local'"]


def test_what_never_was_is_not_found(tmp_path: Path) -> None:
    for name in ("bastion.nothing", "runners.nothing"):
        code = f"import bastion\ntry: import {name}\nexcept ModuleNotFoundError as e: print(e)"
        assert told(code, tmp_path) == [f"No module named '{name}'"]
