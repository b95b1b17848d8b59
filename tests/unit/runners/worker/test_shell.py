"""A text runs in the shell that its job names: bash where there is one, else sh; in an image, the image's own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from bastion.model.errors import BundleError
from bastion.model.job.spec import BundleRef
from bastion.runners.worker.linux.machine import LocalMachine
from bastion.runners.worker.preparation import in_shell
from bastion.testing.stage import KEY, order
from tests.unit.runners.worker.test_machine import machine as machine  # the fixture

BASH_ONLY = '[[ a == a ]] && echo "it is $0"'


def folder_with(folder: Path, *shells: str) -> str:
    """A PATH that has these shells and nothing else."""
    folder.mkdir()
    for name in shells:
        (folder / name).symlink_to(f"/bin/{name}")
    return str(folder)


@pytest.mark.parametrize(
    ("there", "wanted", "found"),
    [(("bash", "sh"), "", "bash"), (("sh",), "", "sh"), (("bash", "sh"), "sh", "sh"), (("bash", "sh"), "bash", "bash")],
)
def test_a_text_runs_in_bash_where_there_is_one(
    machine: LocalMachine, tmp_path: Path, there: tuple[str, ...], wanted: str, found: str
) -> None:
    path = folder_with(tmp_path / "bin", *there)
    told = order(KEY, "exit", shell=wanted)
    assert in_shell(told, machine, "exit", {"PATH": path}) == [f"{path}/{found}", "-c", "exit"]


def test_a_machine_without_the_shell_that_was_asked_for_says_so(machine: LocalMachine, tmp_path: Path) -> None:
    path = folder_with(tmp_path / "bin", "sh")
    with pytest.raises(BundleError, match="there is no bash on this machine"):
        in_shell(order(KEY, "exit", shell="bash"), machine, "exit", {"PATH": path})


@pytest.mark.parametrize(
    ("there", "wanted", "code", "out"),
    [
        (("bash", "sh"), "", 0, "it is bash\n"),
        (("bash", "sh"), "bash", 0, "it is bash\n"),
        (("bash", "sh"), "sh", 0, "plain\n"),
        (("sh",), "", 0, "plain\n"),
        (("sh",), "bash", 127, "there is no bash in this image\n"),
    ],
)
def test_an_image_is_asked_for_its_own_shell(
    machine: LocalMachine, tmp_path: Path, there: tuple[str, ...], wanted: str, code: int, out: str
) -> None:
    image = BundleRef(type="image", image="host/path/name", digest="0" * 64)
    text = f'if [ -n "$BASH_VERSION" ]; then {BASH_ONLY}; else echo plain; fi'
    if (os.path.realpath("/bin/sh")).endswith("bash"):
        pytest.fail("this test needs a /bin/sh that is not bash, as Debian's")
    argv = in_shell(order(KEY, text, shell=wanted, bundle=image), machine, text, {})
    path = folder_with(tmp_path / "bin", *there)
    ended = subprocess.run(argv, env={"PATH": path}, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout + ended.stderr) == (code, out)
