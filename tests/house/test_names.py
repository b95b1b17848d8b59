"""What must not be in any file, and what is drawn must be so."""

from __future__ import annotations

import ast
import re

from bastion.model import errors
from tests.house.source import ROOT, modules, tracked

UNWANTED = {
    "a path of one machine": re.compile(r"/(?:root|work)/|/(?:opt|mnt)/[a-z]"),
    "the host of a package registry": re.compile(r"\b(?:pypi|pythonhosted|npmjs)\.(?:org|io)\b|--(?:extra-)?index-url"),
    "a name that says nothing": re.compile(r"\b(?:utils|helpers|misc)\.py\b"),
}
EXEMPT = {"tests/house/test_names.py", "Makefile"}
"""This file names what it forbids; the Makefile has the lock written without an index."""

DRAWN = re.compile(r"^( *)([A-Z]\w+)  +\S", re.MULTILINE)


def test_no_file_holds_what_is_true_on_one_machine_only() -> None:
    wrong = []
    for path in tracked():
        name = str(path.relative_to(ROOT))
        if name in EXEMPT or b"\0" in path.read_bytes():
            continue
        text = path.read_text()
        wrong += [f"{name}: {what}" for what, pattern in UNWANTED.items() if pattern.search(text)]
    assert wrong == []


def test_the_tree_of_errors_is_drawn_as_it_is() -> None:
    drawn, above = {}, [""]
    for indent, name in DRAWN.findall(errors.__doc__ or ""):
        above = [*above[: len(indent) // 2 + 1], name]
        drawn[name] = above[-2]
    classes = [node for node in modules()["bastion.model.errors"].tree.body if isinstance(node, ast.ClassDef)]
    real = {node.name: ast.unparse(node.bases[0]).replace("Exception", "") for node in classes}
    assert drawn == real
    assert len(real) > 5
