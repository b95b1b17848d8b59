"""How bugs are planted: patches as people make them, and what is said of each that is none or that nobody catches."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from bastion.cli.bastion import tool as bastion
from bastion.cli.launch import tool as launch
from tests.house.source import ROOT, modules, modules_of_tests
from tests.mutants import judging, unplanted
from tests.mutants.__main__ import main
from tests.mutants.judging import Budget, Catch, Verdict, judge
from tests.mutants.patches import BYTES_MAX, Invalid, Patch, apply, changed_code, read, read_one
from tests.mutants.suites import loads, needs_of, seers_of
from tests.mutants.trees import Tree, lend
from tests.mutants.unplanted import Unplanted

OLD, NEW = "def f():\n    a = 1\n    b = 2\n    return a + b\n", "def f():\n    a = 1\n    b = 3\n    return a + b\n"
HUNK = "@@ -1,4 +1,4 @@\n def f():\n     a = 1\n-    b = 2\n+    b = 3\n     return a + b\n"
NO_WORLDS = Budget(seeds=(), tests_s=600)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree of two files."""
    for name in ("room/one.py", "room/two.py"):
        (tmp_path / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tree" / name).write_text(OLD)
    return tmp_path / "tree"


def of(text: str) -> Patch:
    return Patch("some", "a bug", text)


@pytest.mark.parametrize(
    "head",
    [
        "diff --git a/room/one.py b/room/one.py\nindex 1234567..89abcde 100644\n--- a/room/one.py\n+++ b/room/one.py\n",
        "--- room/one.py\n+++ room/one.py\n",
        "--- /home/ada/old/room/one.py\t2026-01-01 10:00:00.000000000 +0000\n+++ /home/ada/new/room/one.py\t2026-01-01 10:01\n",
        "diff -ru old/room/one.py new/room/one.py\n--- old/room/one.py\t2026-01-01\n+++ new/room/one.py\t2026-01-02\n",
        "--- room/one.py.orig\n+++ room/one.py\n",
        "Index: room/one.py\n=====\n--- room/one.py\t(revision 1)\n+++ room/one.py\t(working copy)\n",
    ],
)
def test_a_patch_applies_however_it_names_its_file(tree: Path, head: str) -> None:
    assert apply(of(f"What is planted.\n\n{head}{HUNK}"), tree)[-1] == "room/one.py"
    assert (tree / "room/one.py").read_text() == NEW


def test_a_patch_may_touch_several_files_and_bring_new_ones(tree: Path) -> None:
    new = "--- /dev/null\n+++ b/room/three.py\n@@ -0,0 +1 @@\n+c = 1\n"
    text = "".join(f"--- a/room/{name}.py\n+++ b/room/{name}.py\n{HUNK}" for name in ("one", "two")) + new
    assert apply(of(text), tree) == ("room/one.py", "room/two.py", "room/three.py")
    assert (tree / "room/two.py").read_text() == NEW
    assert (tree / "room/three.py").read_text() == "c = 1\n"


def test_a_patch_applies_where_its_lines_have_moved_to(tree: Path) -> None:
    (tree / "room/one.py").write_text("import os\n" * 9 + OLD)
    apply(of(f"--- a/room/one.py\n+++ b/room/one.py\n{HUNK}"), tree)
    assert (tree / "room/one.py").read_text() == "import os\n" * 9 + NEW


def test_a_patch_made_without_context_applies(tree: Path) -> None:
    apply(of("--- a/room/one.py\n+++ b/room/one.py\n@@ -3 +3 @@\n-    b = 2\n+    b = 3\n"), tree)
    assert (tree / "room/one.py").read_text() == NEW


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"--- a/room/nine.py\n+++ b/room/nine.py\n{HUNK}", "some does not apply: it names a/room/nine.py"),
        (
            f"--- a/room/one.py\n+++ b/room/one.py\n{HUNK.replace('b = 2', 'b = 4')}",
            "some does not apply: error: patch failed",
        ),
        ("only words\n", "some does not apply: it names no file"),
        ("--- /dev/null\n+++ b/../../out.py\n@@ -0,0 +1 @@\n+c = 1\n", "some does not apply: "),
    ],
)
def test_what_does_not_apply_is_named(tree: Path, text: str, told: str) -> None:
    with pytest.raises(Invalid, match=f"^{told}"):
        apply(of(text), tree)
    assert not (tree.parent / "out.py").exists()


def test_what_is_planted_is_said_at_the_head(tmp_path: Path) -> None:
    body = f"--- a/room/one.py\n+++ b/room/one.py\n{HUNK}"
    heads = {
        "1": "A claim is only polite.\n\nSeen by: tests/a.py tests/b.py\n\n",
        "2": "From 12ab Mon Sep 17 00:00:00 2001\nFrom: Ada <ada@example.org>\nSubject: Drop it\n\n---\n room/one.py | 2 +-\n\n",
        "3": "",
    }
    for name, head in heads.items():
        (tmp_path / f"{name}.patch").write_text(head + body)
    found = read(tmp_path)
    assert [patch.planted for patch in found] == ["A claim is only polite.", "Drop it", "3"]
    assert found[0].seen_by == ("tests/a.py", "tests/b.py")


def test_a_folder_without_patches_and_a_patch_that_is_too_long_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="holds 0 files"):
        read(tmp_path)
    (tmp_path / "long.patch").write_bytes(b"x" * (BYTES_MAX + 1))
    with pytest.raises(Invalid, match=r"long\.patch has 1048577 bytes"):
        read_one(tmp_path / "long.patch")


def test_comments_docstrings_and_spaces_are_no_code(tmp_path: Path) -> None:
    for name, text in {"a": 'x = 1\n"""What x is."""\n', "b": '"""Doc."""\n\nx = 1  # one\n'}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "one.py").write_text(text)
    (tmp_path / "a" / "one.py").write_text('"""Other."""\nx = 1\n')
    assert list(changed_code(("one.py",), tmp_path / "a", tmp_path / "b")) == []
    (tmp_path / "a" / "one.py").write_text("x = 2\n")
    assert list(changed_code(("one.py",), tmp_path / "a", tmp_path / "b")) == ["one.py"]


def planted(file: str, old: str, new: str, folder: Path) -> Patch:
    """A patch of our own code, made by diff."""
    text = (ROOT / file).read_text()
    assert text.count(old) == 1
    copy = folder / "planted.py"
    copy.write_text(text.replace(old, new))
    made = subprocess.run(
        ["diff", "-u", "--label", file, "--label", file, ROOT / file, copy], capture_output=True, text=True
    )
    return Patch("planted", "a bug", made.stdout)


def test_what_does_not_run_is_no_planted_bug(tmp_path: Path) -> None:
    told = {}
    for new in ("def vacant(:", "def vacant(status: Nobody = NOBODY,", "# a word more\ndef vacant("):
        verdict = judge(planted("bastion/journal/leadership.py", "def vacant(", new, tmp_path), NO_WORLDS)
        assert verdict.by is Catch.INVALID
        told[new] = verdict.told
    assert [text.partition(":")[0] for text in told.values()] == [
        "does not even run",
        "does not even run",
        "changes no code",
    ]


def test_a_crash_and_a_hang_are_told_as_what_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "HANG_S", 5.0)
    begin = "        bucket, clock = self.context.bucket, self.context.clock\n"
    worker = "        self._add_looks_at_gpus()\n"
    crash = judge(
        planted("runners/worker/run.py", worker, "        raise ZeroDivisionError\n", tmp_path), Budget(seeds=[0])
    )
    tick = planted("bastion/service/tick.py", "        self.ticks += 1\n", "        self.ticks += 1 // 0\n", tmp_path)
    fell = judge(replace(tick, laws=("never ends",)), Budget(seeds=[0]))
    hang = judge(
        planted("bastion/service/maintenance.py", begin, begin + "        while True: pass\n", tmp_path),
        Budget(seeds=[0], seeds_s=1),
    )
    assert (crash.by, hang.by, hang.told) == (Catch.CRASH, Catch.HANG, "seed 0 does not end")
    assert "ZeroDivisionError" in crash.told
    assert (fell.by, fell.caught) == (Catch.CRASH, False), (
        "a tick that falls breaks no law, and not the one that is named"
    )
    assert re.fullmatch(r"a tick of epoch \d+ fell: ZeroDivisionError\(.*\)", fell.told), fell.told


@pytest.mark.acceptance
def test_what_no_world_shows_is_left_to_the_tests_that_load_it(tmp_path: Path) -> None:
    bug = planted("bundler/safe_names.py", "elif climbed > path.count", "elif climbed < -path.count", tmp_path)
    verdict = judge(bug, NO_WORLDS)
    assert (verdict.by, verdict.seeds) == (Catch.TEST, 0)
    assert verdict.told.startswith("tests/unit/bundler/")


def test_tests_that_import_a_file_come_before_those_that_load_it_by_way_of_others() -> None:
    found = seers_of(["quota/policy/scheduler.py"])
    assert found.index("tests/unit/quota/policy/test_scheduler.py") < found.index(
        "tests/unit/bastion/service/test_tick.py"
    )
    assert not [name for name in found if name.startswith(("tests/house", "tests/sim/test_mutants"))]


def test_a_module_that_tests_import_of_its_package_is_imported() -> None:
    package = "tests.unit.launcher.read.test_ends"
    assert "from bastion.launcher.read import exit_codes\n" in modules_of_tests()[package].text
    assert "bastion.launcher.read.exit_codes" in loads()[package]
    assert seers_of(["launcher/read/exit_codes.py"])[0] == "tests/unit/launcher/read/test_ends.py"


def test_what_is_loaded_by_its_name_has_tests_too() -> None:
    parts = [module for module in modules().values() if not module.is_package and not module.name.endswith(".__main__")]
    assert [part.shown for part in parts if not seers_of([part.shown])] == []
    commands = [command for tool in (bastion.TOOL, launch.TOOL) for command in tool.commands]
    assert len(commands) > 40
    by_tests = {f"tests/{folder}" for folder in ("launch", "e2e")}
    for command in commands:
        seers = seers_of([modules()[command.module.partition(":")[0]].shown])
        assert any(path.rpartition("/")[0] in by_tests for path in seers), command.name


def test_those_that_are_about_it_come_first_of_many() -> None:
    assert sorted(seers_of(["cli/launch/ls.py"])[:2]) == ["tests/launch/test_ls.py", "tests/launch/test_watch.py"]
    assert "tests/unit/cli/test_first_time.py" in seers_of(["runners/slurm/fleet.py"])[:5]


def test_tests_of_an_engine_that_is_not_there_are_left_out() -> None:
    images, registry = "tests/images/test_docker_bundler.py", "tests/google/test_registry.py"
    everywhere = seers_of(["bundler/docker_engine.py"], lambda need: True)
    assert everywhere[0] == images
    without = seers_of(["bundler/docker_engine.py"], lambda need: need != "dockerd")
    assert set(everywhere) - set(without) >= {images, registry}
    assert without
    assert not [path for path in without if path.startswith("tests/images/")]
    assert needs_of("tests.slurm.test_runner") == {"munged", "slurmctld", "slurmd"}, "by the fixtures of its folder"
    assert not [
        path
        for path in seers_of(["bundler/docker_engine.py"], nothing)
        if path.startswith(("tests/slurm", "tests/ray"))
    ]


def test_what_fails_without_the_bug_is_run_once_for_all_bugs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[tuple[str, ...]] = []
    fails = {"tests/b.py::one", "tests/c.py"}

    def first_failure(tree: Tree, tests: Iterable[str], blind: Iterable[str], seconds: float) -> tuple[str, bool]:
        ran.append(tuple(tests))
        named = [test for test in ran[-1] if "::" in test or test.endswith("/c.py")]
        known = [test for test in fails - set(blind) if test.partition("::")[0] in ran[-1] or test in ran[-1]]
        return next(iter(named or sorted(known)), ""), False

    for room in (judging, unplanted):
        monkeypatch.setattr(room, "first_failure", first_failure)
    known, files = Unplanted(tmp_path / "known"), ("tests/a.py", "tests/b.py", "tests/c.py", "tests/d.py")
    bug = replace(
        planted("bastion/journal/leadership.py", "RETRY_S = 1.0\n", "RETRY_S = 1.5\n", tmp_path), seen_by=files
    )
    for _ in range(2):
        verdict = judge(bug, NO_WORLDS, known)
        assert (verdict.by, verdict.told) == (Catch.NOTHING, "0 seeds, 4 files of tests")
    a, b, c, d = files
    assert ran == [(a, b, c, d), (c,), (a, b, d), ("tests/b.py::one",), (b, d), (a, b, d)]
    assert known.failing == ["tests/c.py", "tests/b.py::one"]


@pytest.mark.acceptance
def test_what_does_not_fit_by_its_types_is_told(tmp_path: Path) -> None:
    """By the whole tree: who calls what was changed complains. Who names a law must not fail by the patch itself."""
    known = Unplanted(tmp_path / "known")
    bug = planted(
        "bastion/service/tick.py", "    def close(self) -> None:", "    def close(self, why: str) -> None:", tmp_path
    )
    verdict = judge(bug, NO_WORLDS, known, types=True)
    assert (verdict.by, verdict.caught) == (Catch.TYPES, True)
    assert verdict.told.startswith("bastion/service/loop.py:")
    assert 'Missing positional argument "why" in call to "close"' in verdict.told
    ours = judge(replace(bug, laws=("never ends",)), NO_WORLDS, known, types=True)
    assert ours.by is Catch.INVALID
    assert ours.told.startswith("its types do not fit: bastion/service/loop.py:")
    harmless = planted("bastion/journal/leadership.py", "RETRY_S = 1.0\n", "RETRY_S = 1.0 + 0\n", tmp_path)
    assert judge(harmless, Budget(seeds=(), tests_s=0), known, types=True).by is Catch.NOTHING


def test_what_takes_long_to_make_is_lent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.mutants.trees.ROOT", tmp_path / "here")
    made = tmp_path / "here/build/ray"
    for name in ("ready", "lib/project.pth"):
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_text("of here")
    tree = Tree(tmp_path / "tree", Path("python"))
    lend("build/ray", tree)
    lend("build/none", tree)
    assert os.path.samefile(made / "ready", tree.root / "build/ray/ready")
    (tree.root / "build/ray/lib/project.pth").write_text("of there")
    assert (made / "lib/project.pth").read_text() == "of here"


def nothing(need: str) -> bool:
    return False


@pytest.mark.acceptance
def test_a_bug_that_survives_is_the_exit_code_and_the_last_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    harmless = planted("bastion/journal/leadership.py", "RETRY_S = 1.0\n", "RETRY_S = 1.0 + 0\n", tmp_path)
    (tmp_path / "harmless.patch").write_text(harmless.text)
    (tmp_path / "stale.patch").write_text("--- a/gone.py\n+++ b/gone.py\n@@ -1 +1 @@\n-a\n+b\n")
    assert main([f"--patches={tmp_path}", "--seeds=1", "--tests_s=0", "--workers=2"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("SURVIVED harmless: nothing: 1 seeds")
    assert lines[1].startswith("INVALID  stale: invalid: stale does not apply: it names a/gone.py")
    assert lines[-2:] == [
        "without any planted bug 1 seeds keep every law",
        "0 of 1 planted bugs caught; 1 of the patches plant none",
    ]


def test_a_verdict_that_is_a_law_counts_its_seeds() -> None:
    assert Verdict(of(""), Catch.LAW, "a law", 3).caught
    assert not Verdict(of(""), Catch.NOTHING, "", 3).caught
