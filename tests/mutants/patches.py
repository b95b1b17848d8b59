"""Planted bugs as patch files: read, and applied to a copy of the tree. Any usual unified diff will do."""

from __future__ import annotations

import ast
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

BYTES_MAX = 1024 * 1024
PATCHES_MAX = 1_000
_DEPTH_MAX = 16
_PAIR = re.compile(r"^--- ([^\t\n]+?)(?:[ \t][^\n]*)?\n\+\+\+ ([^\t\n]+?)(?:[ \t][^\n]*)?$", re.MULTILINE)
_HUNKS = re.compile(r"^(?:diff |--- |Index: |index )", re.MULTILINE)
_NOWHERE = "/dev/null"
_SEEN_BY = "Seen by: "
_LAW = "# law: "


class Invalid(Exception):
    """This is no planted bug: the patch does not apply, or what it makes is no program."""


@dataclass(frozen=True, slots=True)
class Patch:
    """One planted bug; `planted` says in a line what it is.

    `laws` are words of the laws that it must break, one of them at least; empty: any will do. `seen_by` names tests that see
    what no simulated world shows.
    """

    name: str
    planted: str
    text: str
    seen_by: tuple[str, ...] = ()
    laws: tuple[str, ...] = ()


def read(folder: Path) -> list[Patch]:
    """The patches of a folder, by name. Raises `Invalid` if there are none, or far too many."""
    paths = sorted(path for path in folder.glob("*") if path.suffix in (".patch", ".diff"))
    if not 0 < len(paths) <= PATCHES_MAX:
        raise Invalid(f"{folder} holds {len(paths)} files *.patch or *.diff; use 1 to {PATCHES_MAX}")
    return [read_one(path) for path in paths]


def read_one(path: Path) -> Patch:
    """A patch. What stands above its first hunk says what is planted; a mail's subject does, too."""
    if path.stat().st_size > BYTES_MAX:
        raise Invalid(f"{path.name} has {path.stat().st_size} bytes; at most {BYTES_MAX} are allowed")
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    found = _HUNKS.search(text)
    head = text[: found.start()].splitlines() if found else []
    subject = [line.removeprefix("Subject: ") for line in head if line.startswith("Subject: ")]
    laws = tuple(line.removeprefix(_LAW).strip() for line in head if line.startswith(_LAW))
    told = [line for line in head if line.strip() and not line.startswith((_LAW, _SEEN_BY))]
    planted = next(iter(subject or told), path.stem)
    seen_by = [word for line in head if line.startswith(_SEEN_BY) for word in line.removeprefix(_SEEN_BY).split()]
    return Patch(path.stem, planted.lstrip("# ").strip(), text, tuple(seen_by), laws)


def apply(patch: Patch, tree: Path) -> tuple[str, ...]:
    """Apply it to a tree: the files that it touched. Raises `Invalid`, naming the patch, if it cannot be applied."""
    pairs = _PAIR.findall(patch.text)
    level = next(
        (level for level in range(_DEPTH_MAX) if pairs and all(_fits(pair, level, tree) for pair in pairs)), None
    )
    if level is None:
        named = ", ".join(dict.fromkeys(name for pair in pairs for name in pair))
        raise Invalid(f"{patch.name} does not apply: it names {named or 'no file'}, which this tree does not have")
    names = dict.fromkeys(_without(name, level) for pair in pairs for name in pair if name != _NOWHERE)
    before = {name for name in names if (tree / name).is_file()}
    if told := _git_apply(patch, tree, level):
        raise Invalid(f"{patch.name} does not apply: {told}")
    return tuple(name for name in names if name and (name in before or (tree / name).is_file()))


def _fits(pair: tuple[str, str], level: int, tree: Path) -> bool:
    """Whether, with so many leading folders off, one of two names is a file of the tree; a new file lies in a folder of it."""
    names = [_without(name, level) for name in pair if name != _NOWHERE]
    if pair[0] == _NOWHERE:
        return any(name and (tree / name).parent.is_dir() for name in names)
    return any(name and (tree / name).is_file() for name in names)


def _without(name: str, level: int) -> str:
    return "/".join(name.split("/")[level:])


def _git_apply(patch: Patch, tree: Path, level: int) -> str:
    """What git says against it; empty if it was applied. One line of context is enough, wherever it moved to."""
    argv = ["git", "apply", f"-p{level}", "-C1", "--unidiff-zero", "--whitespace=nowarn", "-"]
    env = {**os.environ, "GIT_CEILING_DIRECTORIES": str(tree.parent), "LC_ALL": "C"}
    data = patch.text.encode("utf-8", "surrogateescape")
    done = subprocess.run(argv, cwd=tree, env=env, input=data, capture_output=True)
    return "" if done.returncode == 0 else "; ".join(done.stderr.decode(errors="replace").split("\n")).strip("; ")


def changed_code(files: tuple[str, ...], before: Path, after: Path) -> Iterator[str]:
    """Those of the files whose code is another one now: not only its comments, docstrings or spaces."""
    for name in files:
        if _code(before / name) != _code(after / name):
            yield name


def _code(path: Path) -> str | bytes:
    """A text that is the same for the same code. Raises `Invalid` for what is no Python."""
    if not path.is_file():
        return b""
    data = path.read_bytes()
    if path.suffix != ".py":
        return data
    try:
        tree = ast.parse(data)
    except SyntaxError as error:
        raise Invalid(f"does not even run: {path.name}:{error.lineno}: {error.msg}") from error
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return ast.dump(tree)
