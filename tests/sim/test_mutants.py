"""The laws are tested by breaking the code: each bug of `tests/mutants/` is planted, and caught, as by `make mutants`."""

from __future__ import annotations

import ast
import contextlib
import shutil
from pathlib import Path

import pytest

from tests.house.source import LINKED, OURS, ROOT
from tests.mutants import table
from tests.mutants.__main__ import OWN
from tests.mutants.judging import Budget, Catch, judge, simulated
from tests.mutants.patches import Invalid, Patch, apply, changed_code, read
from tests.mutants.trees import Tree, plant
from tests.mutants.unplanted import Unplanted

PATCHES = read(OWN)
LEAST = 25


def seed_on_the_page(patch: Patch) -> list[int]:
    """That which has caught it: asked first, it spares those before it; where it does so no more, all are asked."""
    worlds = table.rows().get(patch.name, ("",))[-1]
    return [int(worlds) - 1] if worlds else []


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.name)
def test_a_planted_bug_is_caught(patch: Patch) -> None:
    verdict = judge(patch, Budget(seeds=[*seed_on_the_page(patch), *Budget().seeds], tests_s=600))
    by = Catch.TEST if patch.seen_by else Catch.LAW
    assert verdict.by is by, f"{patch.planted} {verdict.by}: {verdict.told}{verdict.told_apart}"


def test_each_names_a_law_that_there_is_or_tests() -> None:
    texts = laws_of_worlds()
    assert len(texts) > 50
    assert [patch.name for patch in PATCHES if bool(patch.laws) == bool(patch.seen_by)] == []
    named = {words: patch.name for patch in PATCHES for words in patch.laws}
    assert {words: name for words, name in named.items() if not any(words in text for text in texts)} == {}


def laws_of_worlds() -> list[str]:
    """What each law says when it is broken, with `…` for what it fills in."""
    calls = (
        node.args[0]
        for path in sorted((ROOT / "tests/simulation").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Broken"
    )
    return [_text(said) for said in calls]


def _text(said: ast.expr) -> str:
    pieces = said.values if isinstance(said, ast.JoinedStr) else [said]
    return "".join(str(piece.value) if isinstance(piece, ast.Constant) else "…" for piece in pieces)


@pytest.mark.acceptance
def test_without_them_the_same_seeds_keep_every_law(tmp_path: Path) -> None:
    seeds = range(max(int(cells[-1] or 0) for cells in table.rows().values()))
    control = simulated(Patch("nothing", "no bug at all", ""), plant(tmp_path), Budget(seeds=seeds))
    assert (control.by, control.told, control.seeds) == (Catch.NOTHING, "", len(seeds))


def test_every_patch_applies_to_the_code_as_it_is_and_changes_what_it_does(tmp_path: Path) -> None:
    for room in (OURS, *LINKED, "tests/simulation"):
        shutil.copytree(ROOT / room, tmp_path / room, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for patch in PATCHES:
        files = apply(patch, tmp_path)
        assert list(changed_code(files, ROOT, tmp_path)) == list(files), patch.name
        for file in files:
            shutil.copyfile(ROOT / file, tmp_path / file)


def test_the_types_of_each_fit(tmp_path: Path) -> None:
    """Who fails by its own patch proves no law. As many as go together are planted in one tree: this takes two or three."""
    known, left = Unplanted(tmp_path / "known"), PATCHES
    while left:
        tree = plant(tmp_path / str(len(left)))
        rest = [patch for patch in left if not goes_with_others(patch, tree)]
        assert len(rest) < len(left), [patch.name for patch in left]
        assert known.complaints(tree) == []
        left = rest


def goes_with_others(patch: Patch, tree: Tree) -> bool:
    with contextlib.suppress(Invalid):
        return bool(apply(patch, tree.root))
    return False


def test_the_page_names_exactly_these_bugs() -> None:
    assert {name: cells[0] for name, cells in table.rows().items()} == {patch.name: patch.planted for patch in PATCHES}
    assert len(PATCHES) >= LEAST


def test_most_are_caught_by_laws_and_not_by_the_tests_of_one_part() -> None:
    assert sum(not patch.seen_by for patch in PATCHES) >= LEAST
