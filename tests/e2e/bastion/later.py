"""A later version of Bastion, made of this tree: another version number, other forms, and jobs that may try more often."""

from __future__ import annotations

import re
import shutil
import sys
import sysconfig
import venv
from pathlib import Path

from tests.house.source import OURS, ROOT

VERSION = "99.1.0"
RAISED = ("JOURNAL", "SNAPSHOT", "TRACE", "STATUS", "ORDER", "STOP", "WORLD", "CLAIM", "FACTS")
"""What a bastion and its workers write; what clients write stays as it is."""

TRIES = 2_000


def install(folder: Path) -> Path:
    """Install it here, beside the version of this tree. The folder of its scripts."""
    code = folder / "code"
    shutil.copytree(
        ROOT / OURS, code / OURS, ignore=shutil.ignore_patterns("__pycache__")
    )  # with what its links lead to
    _change(code)
    venv.create(folder / "venv", symlinks=True)
    paths = {"base": str(folder / "venv"), "platbase": str(folder / "venv")}
    site = Path(sysconfig.get_path("purelib", "venv", paths))
    libraries = [path for path in sys.path if Path(path).name == site.name]
    (site / "later.pth").write_text(
        "\n".join([str(code), *libraries])
    )  # which leave out what .pth files say of this tree
    for tool in ("bastion", "launch"):
        script = folder / "venv" / "bin" / tool
        script.write_text(
            f"#!{folder}/venv/bin/python -I\nimport sys\nfrom bastion.__main__ import {tool}\nsys.exit({tool}())\n"
        )
        script.chmod(0o755)
    return folder / "venv" / "bin"


def _change(code: Path) -> None:
    numbers = code / "bastion" / "model" / "version.py"
    text = re.sub(r'VERSION = ".*"', f'VERSION = "{VERSION}"', numbers.read_text())
    for name in RAISED:
        text, times = re.subn(rf"(?m)^{name} = (\d+)$", lambda found: f"{name} = {int(found[1]) + 1}", text)  # noqa: B023
        assert times == 1, name
    numbers.write_text(text)
    spec = code / "bastion" / "model" / "job" / "spec.py"
    text, times = re.subn(r"(?m)^TRIES_MAX = .*$", f"TRIES_MAX = {TRIES}", spec.read_text())
    assert times == 1
    spec.write_text(text)
