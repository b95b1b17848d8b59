"""What a job may use: whose bound counts, what is said of it, and a control group made through a folder that stands for all."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bastion.model.state.state import Cause
from bastion.runners.worker.linux import bounds_guard as guards
from bastion.runners.worker.linux.bounds import Bounds, BrokenBound
from bastion.runners.worker.linux.bounds_guard import LOOK_S, QUIET_S, LocalGuard
from bastion.runners.worker.linux.cgroup import LEAF, group
from bastion.runners.worker.linux.process_tree import ProcessInfo

GIB = 2**30


@pytest.mark.parametrize(
    ("setting", "asked", "most", "whose"),
    [
        (0, 0, 0, ""),
        (8, 0, 8, "the most (job_limits.memory)"),
        (0, 4, 4, "what the job asks for"),
        (8, 4, 4, "what the job asks for"),
        (4, 8, 4, "the most (job_limits.memory)"),
    ],
)
def test_the_narrower_bound_counts_and_is_named(setting: int, asked: int, most: int, whose: str) -> None:
    bounds = Bounds(memory=setting, processes=9).of_job(asked)
    assert (bounds.memory_bytes, bounds.processes) == (most * GIB, 9)
    assert not most or f"memory over {most} GiB, which is {whose}" in bounds.too_much().reason
    assert bounds.too_much().cause is Cause.OOM


class Groups:
    """A folder that stands for the system's tree of groups: what the kernel would put there, a test does."""

    def __init__(self, folder: Path) -> None:
        self.root, self.own = folder / "cgroup", folder / "own"
        self.root.mkdir()
        self.is_in("/")

    def is_in(self, path: str) -> None:
        self.own.write_text(f"0::{path}\n")

    def has(
        self, path: str, *, controllers: str = "cpu io memory pids", enabled: str = "", first: bool = False
    ) -> Path:
        folder = self.root / path
        folder.mkdir(parents=True, exist_ok=True)
        files = {"cgroup.controllers": controllers, "cgroup.subtree_control": enabled, "cgroup.procs": "7\n8\n"}
        for name, text in (files | ({} if first else {"cgroup.type": "domain"})).items():
            (folder / name).write_text(text)
        return folder

    def group(self, bounds: Bounds) -> LocalGuard | None:
        found = group(str(os.getpid()), bounds, self.root, self.own)
        return LocalGuard(bounds, found) if found else None

    def read(self, *path: str) -> str:
        return self.root.joinpath(*path).read_text()


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Groups:
    """Here the descendants that a guard would put down, too, are the servers of all tests."""
    monkeypatch.setattr(guards, "put_down", lambda: True)
    return Groups(tmp_path)


JOB = f"job-{os.getpid()}"
BOUNDS = Bounds(memory=2, processes=50)


def test_in_a_containers_own_tree_all_move_aside_and_a_job_has_its_bounds(groups: Groups) -> None:
    base = groups.has("")
    (base / "job-999999999").mkdir()  # of a worker that fell
    assert group("1", BOUNDS, groups.root, groups.own) is None  # two rounds: a folder does not enable what is written
    assert groups.read("cgroup.subtree_control") == "+memory +pids"
    assert groups.read(LEAF, "cgroup.procs") == "8"
    groups.has("", enabled="memory pids")
    groups.is_in(f"/{LEAF}")
    guard = groups.group(BOUNDS)
    assert guard is not None
    assert (groups.read(JOB, "memory.max"), groups.read(JOB, "memory.oom.group")) == (str(2 * GIB), "1")
    assert not (base / "job-999999999").exists()
    seen: list[str] = []

    def start() -> subprocess.Popen[bytes]:
        seen.append(groups.read(JOB, "cgroup.procs"))
        return subprocess.Popen(["true"])

    (groups.root / LEAF / "cgroup.procs").write_text("")
    guard.start(start, os.geteuid()).wait()
    assert seen == ["0"]  # who writes 0 moves itself
    assert groups.read(LEAF, "cgroup.procs") == "0"
    assert groups.read(JOB, "pids.max") == "50"


@pytest.mark.parametrize(
    ("file", "text", "excess"),
    [
        ("memory.events", "low 0\nhigh 0\nmax 9\noom 0\noom_kill 0\n", None),
        ("memory.events", "low 0\nhigh 0\nmax 9\noom 1\noom_kill 3\n", BOUNDS.too_much()),
        ("pids.events", "max 0\n", None),
        ("pids.events", "max 12\n", BOUNDS.too_many()),
    ],
)
def test_what_the_kernel_counted_is_told_once_and_for_all(
    groups: Groups, file: str, text: str, excess: BrokenBound
) -> None:
    groups.has("", enabled="memory pids", first=True)
    guard = groups.group(BOUNDS)
    assert guard is not None
    assert guard.look() is None
    (groups.root / JOB / file).write_text(text)
    assert guard.look() == excess
    (groups.root / JOB / file).unlink()
    assert guard.look() == excess
    assert (groups.root / JOB / "cgroup.kill").exists() == (excess is not None)


def of_others(groups: Groups) -> None:
    groups.has("user.slice")
    groups.is_in("/user.slice")


def without_memory(groups: Groups) -> None:
    groups.has("", controllers="cpu io")


def of_version_1(groups: Groups) -> None:
    groups.own.write_text("4:memory:/\n8:pids:/\n")


def read_only(groups: Groups) -> None:
    groups.has("", enabled="memory pids")
    (groups.root / JOB).write_text("")  # no folder can be made there


@pytest.mark.parametrize("case", [of_others, without_memory, of_version_1, read_only])
def test_where_the_tree_is_not_ours_there_is_no_group(groups: Groups, case: Callable[[Groups], None]) -> None:
    case(groups)
    before = sorted(path for path in groups.root.rglob("*"))
    assert group(str(os.getpid()), BOUNDS, groups.root, groups.own) is None
    assert sorted(groups.root.rglob("*")) == before


SHARING = """
import os, sys
much = bytearray(b"x") * (64 * 2**20)
for _ in range(3):
    if os.fork() == 0:
        print("up", flush=True)
        os.read(0, 1)
        os._exit(0)
os.read(0, 1)
"""


def test_memory_that_several_share_counts_once_and_all_that_is_below_is_put_down() -> None:
    script = (
        "from bastion.runners.worker.linux.session import adopt_orphans\n"
        "from bastion.runners.worker.linux.process_tree import family, kill_all, memory\n"
        "import subprocess, sys\n"
        "adopt_orphans()\n"
        "child = subprocess.Popen([sys.executable, '-c', sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
        "for _ in range(3): child.stdout.readline()\n"
        "mine = family()\n"
        "print(len(mine), sum(member.resident for member in mine), memory(mine))\n"
        "kill_all()\n"
        "print(len(family()))\n"
    )
    said = subprocess.run([sys.executable, "-c", script, SHARING], capture_output=True, text=True, check=True)
    count, resident, used, left = map(int, said.stdout.split())
    assert (count, left) == (4, 0)
    assert resident > 4 * 64 * 2**20
    assert 64 * 2**20 < used < 2 * 64 * 2**20


HIDDEN = """
import ctypes, os, subprocess, sys, threading
def thread():
    subprocess.Popen(["setsid", "sh", "-c", "sleep 600 & echo $!"], stdout=sys.stdout).wait()
    print(subprocess.Popen(["sleep", "600"]).pid, flush=True)
    os.read(0, 1)
threading.Thread(target=thread).start()
ctypes.CDLL(None).pthread_exit(None)
"""
"""A process whose first thread has ended, with a child of its second one, and one that has lost its parent."""


@pytest.mark.parametrize("lists", [True, False])
def test_descendants_are_found_whichever_thread_had_them_and_whoever_they_lost(lists: bool) -> None:
    script = (
        "from bastion.runners.worker.linux import process_tree\n"
        "from bastion.runners.worker.linux.session import adopt_orphans\n"
        "import subprocess, sys\n"
        f"process_tree._LISTS_CHILDREN &= {lists}\n"
        "adopt_orphans()\n"
        "child = subprocess.Popen([sys.executable, '-c', sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
        "wanted = {child.pid, *(int(child.stdout.readline()) for _ in range(2))}\n"
        "found = process_tree.family()\n"
        "print(wanted == {member.pid for member in found}, len(found))\n"
        "process_tree.kill_all()\n"
    )
    said = subprocess.run([sys.executable, "-c", script, HIDDEN], capture_output=True, text=True, check=True)
    assert said.stdout == "True 3\n"


class Quiet:
    """Stands for the processes of a job, and counts how often looking at them went before all else."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.members = [ProcessInfo(1, 0, 1, 2**20, 7)]
        self.risen = 0
        monkeypatch.setattr(guards, "family", self.family)
        monkeypatch.setattr(guards, "put_down", lambda: True)
        monkeypatch.setattr(os, "sched_setscheduler", self.scheduled)

    def family(self, alarm: Callable[[int], None]) -> list[ProcessInfo]:
        for count in range(len(self.members)):
            alarm(count + 1)
        return self.members

    def scheduled(self, pid: int, policy: int, param: object) -> None:
        self.risen += policy == os.SCHED_RR


def test_what_does_not_move_is_looked_at_seldom_and_goes_first_only_in_a_storm(monkeypatch: pytest.MonkeyPatch) -> None:
    quiet = Quiet(monkeypatch)
    guard = LocalGuard(Bounds(processes=1000, memory=1), None)
    paces = []
    for _ in range(10):
        assert guard.look() is None
        paces.append(guard.pace)
    assert (paces[0], paces[-1]) == (LOOK_S, QUIET_S)
    assert paces == sorted(paces)
    quiet.members = [*quiet.members, ProcessInfo(2, 1, 1, 2**20, 8)]
    guard.look()
    assert (guard.pace, quiet.risen) == (LOOK_S, 0)
    quiet.members = [ProcessInfo(1, 0, 1, 2**29, 7)]
    guard.look()
    assert guard.pace == LOOK_S, "more of its memory than before"
    quiet.members = [ProcessInfo(pid, 0, 1, 2**20, 9) for pid in range(500)]
    assert guard.look() is None
    assert quiet.risen == 1
    quiet.members = [ProcessInfo(pid, 0, 1, 2**20, 9) for pid in range(1001)]
    assert guard.watch() == guard.look() == Bounds(processes=1000).too_many()
    assert guard.period() > QUIET_S
