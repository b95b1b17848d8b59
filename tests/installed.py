"""`python -m tests.installed`: what a user gets. A fresh environment of the lock and the wheel, and a job in it.

And what who writes a runner gets: the same with the extra `testing`, and all of the suite for a package of their own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from bastion.model.version import VERSION
from tests.house.source import ROOT
from tests.packages import built, copy_of_the_tree, unpacked

PATIENCE_S = 600


def main() -> int:
    """Build, install, use. The first thing that goes wrong ends it with its words."""
    with TemporaryDirectory(prefix="installed") as folder:
        here = Path(folder)
        source = copy_of_the_tree(here / "source")
        sdist = built(source, "sdist", _made(here / "sdist"))
        wheel = built(unpacked(sdist, here / "unpacked"), "wheel", _made(here / "wheel"))
        tools = _install(wheel, here / "environment")
        _use(tools, _made(here / "elsewhere"))
        _test_a_runner(tools, wheel, _made(here / "theirs"))
    print(f"{wheel.name}, of {sdist.name}, works in an environment of its own")
    return 0


def _install(wheel: Path, environment: Path) -> Path:
    """Where the scripts are, in a fresh environment that holds the base lock and nothing else."""
    _said(Path(), sys.executable, "-m", "venv", str(environment))
    tools = environment / "bin"
    pip = (str(tools / "python"), "-m", "pip", "install", "--quiet")
    _said(Path(), *pip, "--require-hashes", "-r", str(ROOT / "requirements.lock"))
    _said(Path(), *pip, "--no-deps", str(wheel))
    _said(Path(), str(tools / "python"), "-m", "pip", "check")
    return tools


def _use(tools: Path, folder: Path) -> None:
    """The main job, from an unrelated folder."""
    bastion, launch = str(tools / "bastion"), str(tools / "launch")
    _expect("usage: launch", _said(folder, launch, "--help"))
    _expect(f"bastion {VERSION}\n", _said(folder, bastion, "--version"))
    (folder / "hello.sh").write_text("echo hello from $BASTION_JOB_NAME\n")
    _said(folder, bastion, "create", "--local", "--capacity=v4=1", "--poll=0.1")
    try:
        _expect(
            "hello from j\n", _said(folder, launch, "--name=j", "--resources=v4=1", "--follow", "--", "sh", "hello.sh")
        )
        _expect("hello from j\n", _said(folder, launch, "logs", "j", "--no_follow"))
        _expect("SUCCEEDED", _said(folder, launch, "ls", "--all"))
    finally:
        _said(folder, bastion, "delete", "--force", "--yes", "--purge")


def _test_a_runner(tools: Path, wheel: Path, folder: Path) -> None:
    """A stranger's package and its tests, in a folder of their own."""
    shutil.copytree(ROOT / "tests" / "thirdparty", folder, dirs_exist_ok=True)
    pip = (str(tools / "python"), "-m", "pip", "install", "--quiet")
    _said(folder, *pip, f"{wheel}[testing]")
    _said(folder, *pip, ".")
    said = _said(folder, str(tools / "pytest"), "-q", "-p", "no:cacheprovider", "slots_contract.py")
    _expect(" passed", said)
    if "skipped" in said or "deselected" in said:
        sys.exit(f"not all of the suite was run:\n{said}")


def _said(folder: Path, *argv: str) -> str:
    """What a program prints; its complaint, if it fails, is ours."""
    kept = {
        key: value for key, value in os.environ.items() if not key.startswith(("BASTION_", "PYTHON", "VIRTUAL_ENV"))
    }
    home = folder.absolute()
    xdg = {f"XDG_{name}_HOME": f"{home}/{name.lower()}" for name in ("STATE", "CONFIG", "CACHE")}
    environ = kept | xdg | {"BASTION_NAME": "b", "BASTION_BUCKET": f"file://{home}/bucket"}
    said = subprocess.run(argv, cwd=folder, env=environ, capture_output=True, text=True, timeout=PATIENCE_S)
    if said.returncode != 0:
        sys.exit(f"{' '.join(argv)}: exit code {said.returncode}\n{said.stdout}{said.stderr}")
    return said.stdout


def _expect(text: str, said: str) -> None:
    if text not in said:
        sys.exit(f"{text!r} is not in {said!r}")


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


if __name__ == "__main__":
    sys.exit(main())
