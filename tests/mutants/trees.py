"""A copy of the tree with a Python of its own, in which whatever is imported or started comes from the copy."""

from __future__ import annotations

import os
import shutil
import sys
import venv
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.house.source import ROOT
from tests.packages import copy_of_the_tree

TOOLS = ("bastion", "launch")
_TOOL = "#!{python}\nimport sys\nfrom bastion.__main__ import {tool}\nsys.exit({tool}())\n"


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


def lend(made: str, tree: Tree) -> None:
    """Let it have what was made below the root, and takes long to make. What is written there anew is its own."""
    if (ROOT / made).is_dir():
        shutil.copytree(ROOT / made, tree.root / made, symlinks=True, copy_function=_linked)


def _linked(file: str, copy: str) -> None:
    """A link takes no time; but what changes with the tree, as the path of the project, is a copy."""
    if not file.endswith(".pth"):
        with suppress(OSError):
            os.link(file, copy)
            return
    shutil.copy2(file, copy)
