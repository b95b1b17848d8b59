"""How the suite runs itself: in which order, how deep, and what of its user's machine it sees."""

from __future__ import annotations

import os
import pwd
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import pytest

from bastion.platform import host
from bastion.testing.fleets import until
from tests import depth
from tests.house.source import ROOT
from tests.order import ordered
from tests.support.servers import Kept, server


def file_of(test: str) -> str:
    return test.partition("::")[0]


def suite(**counts: int) -> list[str]:
    return [f"tests/{name.replace('__', '/')}.py::{i}" for name, count in counts.items() for i in range(count)]


def test_each_worker_begins_with_long_ones_and_ends_with_short_ones() -> None:
    items = suite(unit__test_a=6, e2e__test_x=2, e2e__test_y=2, unit__test_b=6)
    done = ordered(items, file_of, 2)
    assert sorted(done) == sorted(items)
    for row in (done[:8], done[8:]):
        assert [each.startswith("tests/e2e") for each in row] == [True] * 2 + [False] * 6


def test_what_shares_an_engine_goes_to_one_worker() -> None:
    items = suite(slurm__test_a=3, unit__test_a=10, slurm__test_b=3)
    done = ordered(items, file_of, 2)
    rows = [{each.split("/")[1] for each in row} for row in (done[:8], done[8:])]
    assert rows == [{"slurm", "unit"}, {"unit"}]


@pytest.mark.parametrize("workers", [1, 3, 4, 7])
def test_no_test_is_lost_or_doubled_however_many_workers_there_are(workers: int) -> None:
    items = suite(images__test_a=40, e2e__test_x=5, unit__test_a=1, slurm__test_b=11, sim__test_s=3)
    assert sorted(ordered(items, file_of, workers)) == sorted(items)
    assert ordered([], file_of, workers) == []


def test_a_property_has_more_examples_at_night(monkeypatch: pytest.MonkeyPatch) -> None:
    often = {}
    for name in depth.DEPTHS:
        monkeypatch.setattr(depth, "DEPTH", name)
        often[name] = depth.examples(100)
    assert often == {"check": 10, "test": 100, "night": 2_000}
    monkeypatch.setattr(depth, "DEPTH", "deep")
    with pytest.raises(ValueError, match="TEST_DEPTH is 'deep'; use one of check, test, night"):
        depth.examples(100)


@pytest.mark.parametrize("long", [*depth.ACCEPTANCE, *depth.SHORT])
def test_what_is_called_long_or_short_is_there(long: str) -> None:
    path, _, name = long.partition("::")
    assert list(ROOT.glob(f"{path}*")), "a test that has another name now is run by `make test` again"
    assert not name or f"def {name}(" in (ROOT / path).read_text()


@pytest.mark.parametrize(("is_taken", "told"), [(False, "-9"), (True, "a code that somebody else has waited for")])
def test_a_server_that_has_ended_is_started_anew_and_told_of(tmp_path: Path, is_taken: bool, told: str) -> None:
    """It is a stranger's program, under thousands of other processes."""
    argv = [sys.executable, "-m", "http.server", "{port}", "--bind", "127.0.0.1"]
    with ExitStack() as stack:
        kept = Kept(tmp_path, lambda folder: server(argv, "", folder / "said.log"), stack)
        first = kept.address()
        assert kept.address() == first
        kept.running.kill()
        os.waitid(os.P_PID, kept.running.pid, os.WEXITED | (0 if is_taken else os.WNOWAIT))
        kept.look("test_it")
        kept.look("a later one")
        with pytest.warns(UserWarning, match=f"a server of the tests ended with {told} before the end of test_it: "):
            again = kept.address()
        urllib.request.urlopen(again, timeout=60).close()


@contextmanager
def suite_of(folder: Path, tests: str, *words: str, **environ: str) -> Iterator[subprocess.Popen[str]]:
    """A suite of its own that stands alone as this one does, in a session of its own."""
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_it.py").write_text(tests.replace("FOLDER", repr(str(folder))))
    argv = [sys.executable, "-m", "pytest", "-p", "tests.support.alone", "-p", "no:cacheprovider", *words, str(folder)]
    how = {"cwd": ROOT, "env": {**os.environ, **environ}, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(argv, start_new_session=True, **how) as run:
        try:
            yield run
        finally:
            run.kill()


WAITS = """
import pathlib, subprocess, threading
FLEES = "(setsid env -i sh -c 'echo $$ >left; exec sleep 600 >/dev/null' &)"
def test_it():
    subprocess.run(["sh", "-c", FLEES], cwd=FOLDER)
    child = subprocess.Popen(["sleep", "600"])
    folder = pathlib.Path(FOLDER)
    (folder / "new").write_text(f"{child.pid}\\n")
    (folder / "new").rename(folder / "child")
    threading.Event().wait()
"""


def written(file: Path) -> int:
    """The number in a file, once it is whole."""
    until(lambda: file.exists() and file.read_text().endswith("\n"), f"a number in {file.name}")
    return int(file.read_text())


def asked(pid: int) -> None:
    os.kill(pid, signal.SIGTERM)


def pressed(pid: int) -> None:
    """Ctrl-C."""
    os.killpg(pid, signal.SIGINT)


def killed(pid: int) -> None:
    """Pytest itself is, below its guard."""
    (found,) = [child for child in psutil.Process(pid).children() if "pytest" in child.cmdline()]
    found.kill()


@pytest.mark.parametrize(("end", "words", "code"), [(asked, (), 2), (pressed, (), 2), (killed, ("-n1",), 137)])
def test_a_suite_that_is_cut_leaves_no_process_and_no_home(
    tmp_path: Path, end: Callable[[int], None], words: Sequence[str], code: int
) -> None:
    """Neither a child nor what has lost its parent, its session and its environment."""
    (tmp_path / "tmp").mkdir()
    with suite_of(tmp_path, WAITS, *words, TMPDIR=str(tmp_path / "tmp")) as run:
        left = [written(tmp_path / name) for name in ("left", "child")]
        assert all(map(host.is_alive, left))
        end(run.pid)
        run.communicate()
        assert [pid for pid in left if host.is_alive(pid)] == []
    assert run.returncode == code
    assert list((tmp_path / "tmp").glob("home-*")) == []


STUBBORN = """
def test_it():
    import pathlib, threading
    for said in ("up", "once"):
        try:
            pathlib.Path(FOLDER, said).touch()
            threading.Event().wait()
        except KeyboardInterrupt:
            pass
    threading.Event().wait()
"""


def test_a_suite_that_is_asked_a_second_time_is_killed(tmp_path: Path) -> None:
    with suite_of(tmp_path, STUBBORN) as run:
        for said in ("up", "once"):
            until((tmp_path / said).exists, "the test's word")
            asked(run.pid)
        run.communicate()
    assert run.returncode == 128 + signal.SIGKILL


def test_a_suite_that_ends_by_itself_hides_nothing_that_it_leaves(tmp_path: Path) -> None:
    with suite_of(tmp_path, WAITS.replace("threading.Event().wait()", "")) as run:
        run.communicate()
    assert run.returncode == 0
    for name in ("left", "child"):
        os.kill(written(tmp_path / name), signal.SIGKILL)


HOMES = """
import os, pathlib, pytest
@pytest.mark.parametrize("file", [".ray/auth_token", ".netrc"])
def test_it(file):
    home = pathlib.Path.home()
    assert (os.listdir(home), home.is_relative_to(FOLDER)) == ([], False)
    assert not [name for name in os.environ if name.startswith(("AWS_", "KUBECONFIG", "RAY_"))]
    (home / file).parent.mkdir(exist_ok=True)
    (home / file).touch()
"""


@pytest.mark.parametrize("words", [(), ("-n1",)])
def test_tests_see_nobodys_home(tmp_path: Path, words: Sequence[str]) -> None:
    """A token of the user's own cluster, say, led tests to it; and each begins with an empty one."""
    (tmp_path / ".ray").mkdir()
    (tmp_path / ".ray" / "auth_token").write_text("secret")
    with suite_of(tmp_path, HOMES, *words, HOME=str(tmp_path), RAY_ADDRESS="theirs") as run:
        said, _ = run.communicate()
    assert run.returncode == 0, said
    assert os.listdir(tmp_path / ".ray") == ["auth_token"]


def test_this_suite_stands_alone() -> None:
    assert Path.home() != Path(pwd.getpwuid(os.getuid()).pw_dir)
    assert not [name for name in os.environ if name.startswith(("AWS_", "KUBECONFIG", "RAY_"))]
