"""The player notices what is not so, and says where."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from docs.tools import stage as stage_module
from docs.tools.pages import Step, difference, rewritten, steps
from docs.tools.play import ROOT, main, play, told
from docs.tools.stage import StageError, stage
from tests.support.fleet import until


def step(*output: str) -> Step:
    return Step(1, "true", output, 0, 0)


def page(*lines: str) -> str:
    return "\n".join(["# A page", "", "```console", *lines, "```", ""])


def test_blocks_of_other_languages_and_text_are_not_played() -> None:
    text = "```bash\n$ one\n```\n\n```text\n$ two\n```\n\n    $ three\n\n" + page("$ four", "4")
    assert [(each.command, each.output, each.line) for each in steps(text)] == [("four", ("4",), 14)]


def test_a_command_goes_on_in_lines_that_say_so() -> None:
    (only,) = steps(page("$ cat <<'END'", "> one", ">", "> END", "one", "> two"))
    assert only.command == "cat <<'END'\none\n\nEND"
    assert only.output == ("one", "> two")


def test_a_block_within_a_list_is_played() -> None:
    text = "1. First\n\n   ```console\n   $ echo a\n   a\n   ```\n"
    (only,) = steps(text)
    assert (only.output, only.line) == (("a",), 4)
    assert rewritten(text, [(only, ["b"])]) == text.replace("   a\n", "   b\n")


@pytest.mark.parametrize(
    ("said", "printed"),
    [
        ("submitted train-5ba08448", "submitted train-00c0ffee"),
        ("2026-11-21T03:51:08.024Z  job", "2031-01-01T00:00:00Z  job"),
        ("ends by 23:59 UTC", "ends by 2026-11-23 00:01 UTC"),
        ("A   4s  B", "A 1m20s B"),
        ("within 10 s", "within 0.3 s"),
        ("pid 3629 on vm, here", "pid 1 on some.other-host, here"),
        ("bundle 0b1f60f0831d: files: 3, KiB: 5.5", "bundle 86049afba5de: files: 3, KiB: 7"),
        ("error: … is not", "error: this is not"),
    ],
)
def test_what_differs_from_run_to_run_is_compared_by_its_form(said: str, printed: str) -> None:
    assert difference(step(said), [printed]) == ""
    assert difference(step(said), [f"{printed}!"]) != ""
    assert difference(step(said), [printed, printed]) != ""


@pytest.mark.parametrize(
    ("said", "printed"),
    [
        ("1 PENDING, 1 RUNNING", "1 PENDING, 2 RUNNING"),
        ("step 12/60 loss 2.1000", "step 12/60 loss 2.2658"),
        ("v4=8  RUNNING", "v4=8 PENDING"),
        ("train  -  0/1", "train  4s  0/1"),
        ("(not a pattern.)", "(not a patternX)"),
    ],
)
def test_all_else_has_to_be_the_same(said: str, printed: str) -> None:
    assert difference(step(said), [printed]).splitlines()[2:] == ["@@ -1 +1 @@", f"-{said}", f"+{printed}"]


def test_lines_may_be_left_out() -> None:
    assert difference(step("a", "…", "d"), ["a", "b", "c", "d"]) == ""
    assert difference(step("a", "…", "d"), ["a", "d"]) == ""
    assert "+e" in difference(step("a", "…", "d"), ["a", "b", "d", "e"])


def test_a_page_is_played_in_one_shell() -> None:
    text = page("$ export A=1", "$ cd ..", "```", "", "```console", '$ echo "$A $PWD"', "1 /home/ada")
    assert list(play(text)) == []


def test_a_mismatch_names_page_line_and_difference(tmp_path: Path) -> None:
    text = page("$ echo one", "one", "$ echo two", "three")
    (only,) = play(text)
    said = told(tmp_path / "a.md", only)
    assert said.startswith(f"{tmp_path}/a.md:6: $ echo two\n--- the page\n+++ this run\n")
    assert "-three\n+two\n" in said


def test_a_failure_that_the_page_does_not_show_is_a_mismatch() -> None:
    assert [each.what for each in play(page("$ false"))] == ["it exits with 1"]
    assert list(play(page("$ false", "$ echo $?", "1"))) == []
    assert list(play(page("$ launch", "error: there is no command; …"))) == []


def test_a_shell_that_ends_is_a_mismatch() -> None:
    assert [each.what.splitlines()[0] for each in play(page("$ exit 0", "$ true"))] == ["the shell ended; it printed"]


def test_a_command_that_does_not_end_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage_module, "PATIENCE_S", 0.1)
    monkeypatch.setattr(stage_module, "CURTAIN_S", 0.1)
    with stage() as here, pytest.raises(StageError, match="has not ended"):
        here.run("sleep 1000")


def test_what_a_page_leaves_running_is_named_and_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage_module, "CURTAIN_S", 0.1)
    before = {process.pid for process in psutil.process_iter()}
    (only,) = play(page("$ sleep 1001 & disown"))
    told, *left = only.what.splitlines()
    assert told == "still runs after the page's end:"
    assert "sleep 1001" in left  # beside the shell itself, where that takes longer
    assert "sleep 1001" not in {" ".join(process.info["cmdline"] or ()) for process in news(before)}


def test_a_player_that_is_killed_leaves_no_bastion(tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    create = "$ export BASTION_NAME=b BASTION_BUCKET=file://$HOME/bucket && bastion create --local --capacity=cpu=1"
    file.write_text(page(create, "…", "$ touch ../there; until [ -e ../go ]; do sleep 0.1; done"))
    argv = [sys.executable, "-m", "docs.tools.play", str(file)]
    with subprocess.Popen(argv, cwd=ROOT, env={**os.environ, "TMPDIR": str(tmp_path)}) as player:
        until(lambda: bool(list(tmp_path.glob("*/home/there"))))
        assert started_below(tmp_path)
        player.kill()
    (there,) = tmp_path.glob("*/home/there")
    there.with_name("go").touch()
    try:
        until(lambda: not started_below(tmp_path))
    finally:
        for process in started_below(tmp_path):
            with suppress(psutil.Error):
                process.kill()


def test_a_page_can_be_rewritten_to_what_is_printed(tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    file.write_text(page("$ echo one", "…", "$ seq 2", "3", "", "text"))
    assert main(["--write", str(file)]) == 1
    assert file.read_text() == page("$ echo one", "…", "$ seq 2", "1", "2")
    assert main([str(file)]) == 0


def test_nothing_of_who_plays_is_seen() -> None:
    os.environ["BASTION_NAME"] = "somebody-elses"
    try:
        with stage() as here:
            assert here.run("echo $BASTION_NAME; whoami >/dev/null; echo $USER").lines == ("", "ada")
    finally:
        del os.environ["BASTION_NAME"]


def started_below(folder: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get("HOME", "").startswith(str(folder)):
                found.append(process)
    return found


def news(before: set[int]) -> list[psutil.Process]:
    return [process for process in psutil.process_iter(["cmdline"]) if process.pid not in before]
