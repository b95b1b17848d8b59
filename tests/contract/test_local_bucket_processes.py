"""The bucket in a folder keeps its promises among processes, and when one of them is killed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from bastion.stores.local import LocalBucket

_CREATE = """
import sys
from bastion.stores.local import LocalBucket
bucket = LocalBucket(sys.argv[1])
print("ready", flush=True)
for line in sys.stdin:
    print(bucket.create(line.strip(), sys.argv[2].encode()) is not None, flush=True)
"""
_COUNT = """
import sys
from bastion.stores.local import LocalBucket
bucket = LocalBucket(sys.argv[1])
print("ready", flush=True)
for line in sys.stdin:
    done = 0
    while done < 20:
        stored = bucket.read(line.strip())
        done += bucket.replace(line.strip(), b"%d" % (int(stored.data) + 1), stored.version) is not None
    print(done, flush=True)
"""
KEPT = {"lock", "store"}
"""What stays of the folder's own."""

_WRITE_FOREVER = """
import sys
from bastion.stores.local import LocalBucket
bucket = LocalBucket(sys.argv[1])
while True:
    for byte in (b"x", b"y"):
        bucket.write("large", byte * (8 << 20))
"""
_REWRITE = """
import sys
from bastion.stores.local import LocalBucket
bucket = LocalBucket(sys.argv[1])
print("ready", flush=True)
while True:
    for number in range(300):
        bucket.write(f"d/{number:03}", b"new")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "bucket"


@pytest.fixture
def bucket(folder: Path) -> LocalBucket:
    return LocalBucket(f"file://{folder}", create=True)


def test_of_8_racing_processes_exactly_one_creates(bucket: LocalBucket) -> None:
    with _processes(_CREATE, bucket.url) as ask:
        for turn in range(20):
            answers = ask(f"race/{turn}")
            assert sorted(answers) == ["False"] * 7 + ["True"]
            assert bucket.read(f"race/{turn}").data == b"%d" % answers.index("True")


def test_swaps_of_8_racing_processes_lose_nothing(bucket: LocalBucket) -> None:
    bucket.create("counter", b"0")
    with _processes(_COUNT, bucket.url) as ask:
        assert ask("counter") == ["20"] * 8
    assert bucket.read("counter").data == b"160"


def test_a_writer_that_is_killed_leaves_a_whole_object_and_no_rest(folder: Path, bucket: LocalBucket) -> None:
    bucket.write("large", b"xxx")
    for _ in range(3):
        with subprocess.Popen([sys.executable, "-c", _WRITE_FOREVER, bucket.url]) as writer:
            _until(lambda: any(path.name not in KEPT for path in (folder / "%private").iterdir()))
            writer.kill()
        data = bucket.read("large").data
        assert data == data[:1] * len(data)
    LocalBucket(bucket.url)
    private = folder / "%private"
    for empty in [path for path in private.iterdir() if path.name not in KEPT]:
        assert not list(empty.iterdir())  # killed before it wrote or after its move, and judged by its age
        os.utime(empty, (0, 0))
    LocalBucket(bucket.url)
    assert {path.name for path in private.iterdir()} == KEPT
    assert bucket.write("large", b"free")


def test_a_listing_shows_every_object_while_all_are_rewritten(bucket: LocalBucket) -> None:
    keys = [f"d/{number:03}" for number in range(300)]
    for key in keys:
        bucket.write(key, b"")
    with subprocess.Popen([sys.executable, "-c", _REWRITE, bucket.url], stdout=subprocess.PIPE) as writer:
        assert writer.stdout
        assert writer.stdout.readline() == b"ready\n"
        for _ in range(100):
            assert [stat.key for stat in bucket.list("d/")] == keys
        assert writer.poll() is None
        writer.kill()


@contextmanager
def _processes(script: str, url: str) -> Iterator[Callable[[str], list[str]]]:
    """Eight processes that run the script; to ask is to send a line to all and to read a line from each."""
    pipe = subprocess.PIPE
    with ExitStack() as stack:
        argvs = [[sys.executable, "-c", script, url, str(number)] for number in range(8)]
        started = [stack.enter_context(subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True)) for argv in argvs]

        def hear() -> list[str]:
            return [process.stdout.readline().strip() for process in started if process.stdout]

        def ask(line: str) -> list[str]:
            for process in started:
                assert process.stdin
                process.stdin.write(line + "\n")
                process.stdin.flush()
            return hear()

        assert hear() == ["ready"] * 8
        yield ask


def _until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 180
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.002)
