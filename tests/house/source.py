"""The source as it lies in the repository: modules, and what each of them imports."""

from __future__ import annotations

import ast
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OURS = "bastion"
LINKED = ("bundler", "cli", "launcher", "quota", "runners")
"""Rooms that lie beside the core, and have a link in it: `launcher/` is imported as `bastion.launcher`."""

ENTRY = "bastion.__main__"


@dataclass(frozen=True, slots=True)
class Import:
    """One imported module. `inner`: not at the top of its file."""

    module: str
    line: int
    inner: bool


@dataclass(frozen=True, slots=True)
class Module:
    """One file of ours."""

    name: str
    path: Path
    text: str
    tree: ast.Module
    imports: tuple[Import, ...]

    @property
    def room(self) -> str:
        """The folder at the root that holds it."""
        return self.shown.partition("/")[0]

    @property
    def is_package(self) -> bool:
        """It is the `__init__` file of a package."""
        return self.path.name == "__init__.py"

    @property
    def is_pure(self) -> bool:
        """Its docstring says so."""
        return re.search(r"\bPure\b", ast.get_docstring(self.tree) or "") is not None

    @property
    def shipped(self) -> str:
        """Its path in the wheel."""
        return (f"{OURS}/" if self.room in LINKED else "") + self.shown

    @property
    def shown(self) -> str:
        """Its path, as a complaint shows it."""
        return str(self.path.relative_to(ROOT))


@cache
def modules() -> Mapping[str, Module]:
    """All modules in the wheel, by name."""
    return _read([path for room in (OURS, *LINKED) for path in sorted((ROOT / room).rglob("*.py"))])


@cache
def modules_of_tests() -> Mapping[str, Module]:
    """All modules of the tests, by name. What they import of packages of ours are modules, too."""
    return _read(sorted((ROOT / "tests").rglob("*.py")), modules())


def closure(start: Iterable[str]) -> set[str]:
    """All modules of ours that are loaded when these are, and by what their functions import."""
    found: set[str] = set()
    waiting = list(start)
    while waiting:
        name = waiting.pop()
        if name in modules() and name not in found:
            found.add(name)
            waiting += [imported.module for imported in modules()[name].imports]
    return found


@cache
def importers() -> Mapping[str, set[str]]:
    """The modules that import each module, by its name."""
    found: dict[str, set[str]] = defaultdict(set)
    for module in modules().values():
        for imported in module.imports:
            found[imported.module].add(module.name)
    return found


def in_circles(ways: Mapping[str, Set[str]]) -> set[str]:
    """Those in a circle, and those that lead into one: all that is left when nobody is left who imports nobody that is left."""
    left = {name: set(others) for name, others in ways.items()}
    while ground := [name for name, others in left.items() if not others & left.keys()]:
        for name in ground:
            del left[name]
    return set(left)


@cache
def tracked() -> tuple[Path, ...]:
    """All files that git keeps, or would keep if they were added now."""
    argv = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    return tuple(ROOT / name for name in names if name and (ROOT / name).is_file())


def _read(paths: Iterable[Path], others: Iterable[str] = ()) -> Mapping[str, Module]:
    names = {_name(path): path for path in paths}
    known = {*names, *others}
    return {name: _module(name, path, known) for name, path in names.items()}


def _name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    above = (OURS,) if parts[0] in LINKED else ()
    return ".".join((*above, *(parts[:-1] if parts[-1] == "__init__" else parts)))


def _module(name: str, path: Path, known: Set[str]) -> Module:
    text = path.read_text()
    tree = ast.parse(text)
    top = {id(node) for node in tree.body}
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    imports = tuple(
        Import(module, node.lineno, id(node) not in top)
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for module in _imported(node, known, package)
    )
    return Module(name, path, text, tree, imports)


def _imported(node: ast.Import | ast.ImportFrom, known: Set[str], package: str) -> Iterator[str]:
    """`from bastion.model import layout` imports the module `bastion.model.layout`.

    And `from .spec import NAME`, in the package `bastion.model.job`, imports `bastion.model.job.spec`.
    """
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
        return
    near = package.split(".")[: 1 - node.level or None] if node.level else []
    wanted = ".".join([*near, *([node.module] if node.module else [])])
    yield from dict.fromkeys(f"{wanted}.{a.name}" if f"{wanted}.{a.name}" in known else wanted for a in node.names)
