"""A copy of the tree with a Python of its own, in which whatever is imported or started comes from the copy."""

from __future__ import annotations

import sys
import venv
from dataclasses import dataclass
from pathlib import Path

from tests.packages import copy_of_the_tree

TOOLS = ("bastion", "launch")
_TOOL = "#!{python}\nimport sys\nfrom bastion_entry import {tool}\nsys.exit({tool}())\n"


@dataclass(frozen=True, slots=True)
class Tree:
    """`python` sees the code of `root`, also isolated (`-I`), and what is installed besides."""

    root: Path
    python: Path


def plant(folder: Path) -> Tree:
    """Make a copy below this folder."""
    root, env = copy_of_the_tree(folder / "tree"), folder / "env"
    venv.EnvBuilder(symlinks=True).create(env)
    python = env / "bin" / "python"
    installed = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    (site,) = env.glob("lib/python*/site-packages")
    (site / "planted.pth").write_text("\n".join([str(root), *installed]) + "\n")
    for tool in TOOLS:
        path = python.with_name(tool)
        path.write_text(_TOOL.format(python=python, tool=tool))
        path.chmod(0o755)
    return Tree(root, python)
