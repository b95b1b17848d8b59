"""Rooms: few files side by side, few floors, no arrow that runs back up, and no splinter with a door of its own."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Set
from functools import cache
from itertools import takewhile
from pathlib import PurePosixPath

import pytest

from tests.house.source import ENTRY, LINKED, OURS, ROOT, Module, importers, in_circles, modules, tracked

WIDTH_MAX = 25
FLOORS_MAX = 5
"""Of the folders of the core: a job spec, a decision and a log line find their way through so many."""

SPLINTER_BELOW = 40
"""A file of fewer lines that one other file alone imports is a part of that one."""

TOPS = {OURS, *LINKED, "docs", "tests", "deploy", ".ci"}
PARTS = ("For:", "Here:", "Imports:")


def folders() -> list[str]:
    """All that have modules or other folders of modules, from the root on."""
    return sorted({str(above) for m in modules().values() for above in PurePosixPath(m.shown).parents} - {"."})


@cache
def arrows(folder: str) -> Mapping[str, Set[str]]:
    """Who imports whom of what lies directly in a folder: files, and folders as one. The entry of all programs stands outside."""
    homes = {m.name: PurePosixPath(m.shown) for m in modules().values() if not m.is_package and m.name != ENTRY}
    found: dict[str, set[str]] = defaultdict(set)
    for name, path in homes.items():
        for imported in modules()[name].imports:
            there = homes.get(imported.module)
            if there and path.is_relative_to(folder) and there.is_relative_to(folder):
                ours, theirs = (each.relative_to(folder).parts[0] for each in (path, there))
                found[ours] |= {theirs} - {ours}
                found[theirs] |= set()
    return found


def imports_of(package: Module) -> list[str]:
    """List what the files of a folder import, as its `__init__` says it: folders of the core, other rooms, parts of its own."""
    own = _way(package.name)
    inside = [module for module in modules().values() if module.name != ENTRY and _way(module.name)[: len(own)] == own]
    found = {_part(package.name, imported.module) for module in inside for imported in module.imports}
    return sorted(found - {""})


def _part(package: str, imported: str) -> str:
    """The name under which `package` speaks of what it imports; empty for what is its own, or not ours.

    Of the core that is the folder below `bastion`, of another room the room, of the own room one folder below what both share.
    """
    if imported not in modules():
        return ""
    own, other = _way(package), _way(imported if modules()[imported].is_package else imported.rpartition(".")[0])
    if other[: len(own)] == own:
        return ""
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(own, other, strict=False)))
    return ".".join(other[: 2 if other[0] == OURS else shared + 1])


def _way(package: str) -> list[str]:
    """The folders from a room down to a package: `bastion.cli.launch` lies in the room `cli`, `bastion.model` in the core."""
    names = package.split(".")
    return names[1:] if names[1:] and names[1] in LINKED else names


def floors(ways: Mapping[str, Set[str]]) -> Mapping[str, int]:
    """On which floor each stands: above all that it imports."""
    found: dict[str, int] = {}
    while len(found) < len(ways):
        for name, others in ways.items():
            if name not in found and others <= found.keys():
                found[name] = 1 + max((found[other] for other in others), default=0)
    return found


def test_the_root_has_the_rooms_of_the_house_and_no_other_code() -> None:
    tops = {path.relative_to(ROOT).parts[0] for path in tracked() if path.parent != ROOT}
    assert tops == TOPS
    assert [path.name for path in tracked() if path.parent == ROOT and path.suffix == ".py"] == []


def test_a_room_beside_the_core_has_a_link_in_it() -> None:
    links = {path.name: path.readlink() for path in (ROOT / OURS).iterdir() if path.is_symlink()}
    assert {name: str(link) for name, link in links.items()} == {name: f"../{name}" for name in LINKED}


def test_few_files_lie_side_by_side() -> None:
    wide = Counter(str(path.relative_to(ROOT).parent) for path in tracked() if path.suffix == ".py")
    assert {folder: files for folder, files in wide.items() if files > WIDTH_MAX} == {}


@pytest.mark.parametrize("folder", folders())
def test_no_arrow_of_a_folder_runs_back_up(folder: str) -> None:
    assert in_circles(arrows(folder)) == set()


def test_no_arrow_between_the_rooms_runs_back_up() -> None:
    assert in_circles(arrows(".")) == set()


def test_the_core_has_few_floors() -> None:
    of_folders = {name: others for name, others in arrows(OURS).items() if not name.endswith(".py")}
    heights = floors(of_folders)
    assert len(heights) > 5
    assert {name: floor for name, floor in heights.items() if floor > FLOORS_MAX} == {}


def test_the_rule_sees_a_circle() -> None:
    assert in_circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == {"a", "b", "c"}
    assert floors({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == {"a": 3, "b": 2, "c": 1}


def test_what_is_one_thing_is_one_file() -> None:
    """But for interfaces and what a program enters by."""
    users = importers()
    splinters = [
        module.shown
        for module in modules().values()
        if len(users.get(module.name, ())) == 1 and module.text.count("\n") < SPLINTER_BELOW
        if not module.is_package and not _is_an_interface(module.tree) and users[module.name] != {ENTRY}
    ]
    assert splinters == []


@pytest.mark.parametrize("package", sorted(module.shown for module in modules().values() if module.is_package))
def test_a_room_says_what_it_is_for_what_is_in_it_and_what_it_imports(package: str) -> None:
    told = ast.get_docstring(ast.parse((ROOT / package).read_text())) or ""
    lines = told.splitlines()
    assert [part for part in PARTS if not any(line.startswith(part) for line in lines)] == []
    named = {word for line in _paragraph(lines, "Here:") for word in line.split("`")[1::2]}
    there = {path.stem for path in (ROOT / package).parent.iterdir()}
    assert [name for name in named if name.isidentifier() and name.islower() and name not in there] == []


@pytest.mark.parametrize(
    "package", [module for module in modules().values() if module.is_package], ids=lambda it: it.name
)
def test_a_room_imports_what_it_says(package: Module) -> None:
    said = " ".join(_paragraph((ast.get_docstring(package.tree) or "").splitlines(), "Imports:"))
    assert re.findall(r"`([^`]+)`", said.partition(".` ")[0].split(". ")[0]) == imports_of(package)


def _paragraph(lines: Iterable[str], head: str) -> list[str]:
    """The lines from this head to the next."""
    found: list[str] = []
    for line in lines:
        if line.startswith(head) or (found and not line.startswith(PARTS)):
            found.append(line)
        elif found:
            break
    return found


def _is_an_interface(tree: ast.Module) -> bool:
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    return bool(classes) and all("Protocol" in map(ast.unparse, node.bases) for node in classes)
