"""A process that stands still while it holds the lock of a folder bucket stops nobody, and spoils nothing when it goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bastion.model.errors import ObjectNotFound
from bastion.stores.local import LocalBucket

PATIENCE_S = 0.05

_SLEEPER = """
import fcntl, os, signal, sys
from bastion.stores.local import LocalBucket
from bastion.model.errors import ObjectNotFound

url, verb, left = sys.argv[1], sys.argv[2], int(sys.argv[3])
bucket, armed = LocalBucket(url), False

def hook(event, args):
    "Stop at the call of this number that changes something while the lock is held."
    global armed, left
    if event == "fcntl.flock" and args[1] in (fcntl.LOCK_EX | fcntl.LOCK_NB, fcntl.LOCK_UN):
        armed = args[1] != fcntl.LOCK_UN
    elif armed and event.startswith("os."):
        left -= 1
        if left == 0:
            print("asleep", flush=True)
            os.kill(os.getpid(), signal.SIGSTOP)

version = bucket.read("a").version
sys.addaudithook(hook)
calls = {
    "replace": lambda: bucket.replace("a", b"late", version),
    "write": lambda: bucket.write("a", b"late"),
    "create": lambda: bucket.create("new", b"late"),
    "delete": lambda: bucket.delete(["a"]),
    "beside": lambda: bucket.create("a/b", b"late"),
}
print("done" if calls[verb]() else "refused", flush=True)
"""

POINTS = [
    *[
        ("replace", number) for number in (1, 2)
    ],  # before the version is looked at, and before what was found is replaced
    *[("write", number) for number in (1, 2)],
    *[("create", number) for number in (1, 2)],
    ("delete", 1),
    *[("beside", number) for number in (1, 2, 3, 4, 5, 6)],  # `a` steps aside in three moves, and becomes a folder
]


@pytest.fixture
def bucket(tmp_path: Path) -> LocalBucket:
    made = LocalBucket(f"file://{tmp_path}", create=True, patience_s=PATIENCE_S)
    made.create("a", b"first")
    return made


@contextmanager
def asleep(bucket: LocalBucket, verb: str, number: int) -> Iterator[subprocess.Popen[str]]:
    """A process that stands still at that point; in the end it goes on, or is killed."""
    argv = [sys.executable, "-c", _SLEEPER, bucket.url, verb, str(number)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as sleeper:
        try:
            assert sleeper.stdout
            assert sleeper.stdout.readline() == "asleep\n"
            os.waitid(os.P_PID, sleeper.pid, os.WSTOPPED)  # who is woken before it stands still would sleep for ever
            yield sleeper
        finally:
            sleeper.kill()


def wakes(sleeper: subprocess.Popen[str]) -> str:
    """What it says when it has gone on."""
    sleeper.send_signal(signal.SIGCONT)
    assert sleeper.stdout
    said = sleeper.stdout.readline().strip()
    assert sleeper.wait() == 0
    return said


def content(bucket: LocalBucket, key: str) -> bytes | None:
    try:
        return bucket.read(key).data
    except ObjectNotFound:
        return None


@pytest.mark.parametrize(("verb", "number"), POINTS)
def test_others_go_on_and_the_sleepers_change_is_made_as_if_there_had_been_no_sleep(
    bucket: LocalBucket, verb: str, number: int
) -> None:
    with asleep(bucket, verb, number) as sleeper:
        assert bucket.read("a").data == b"first", "it stands still before its change"
        assert bucket.create("other", b"1")
        assert bucket.replace("a", b"ours", bucket.read("a").version), "nobody is in the way"
        assert verb != "create" or bucket.create("new", b"ours")
        said = wakes(sleeper)
    assert said == ("refused" if verb in ("replace", "create", "delete") else "done")
    expected = {"write": b"late", "delete": None}
    assert content(bucket, "a") == expected.get(verb, b"ours")
    assert content(bucket, "new") == (b"ours" if verb == "create" else None)
    assert content(bucket, "a/b") == (b"late" if verb == "beside" else None)
    there = {"a": verb != "delete", "a/b": verb == "beside", "new": verb == "create", "other": True}
    assert [stat.key for stat in bucket.list("")] == [key for key, known in there.items() if known]
    left = {path.name for path in (Path(bucket.url.removeprefix("file://")) / "%private").iterdir()}
    assert left == {"lock", "store"}


@pytest.mark.parametrize(("verb", "number"), POINTS)
def test_a_sleeper_that_is_killed_has_changed_nothing(bucket: LocalBucket, verb: str, number: int) -> None:
    with asleep(bucket, verb, number):
        bucket.write("other", b"1")
    assert bucket.read("a").data == b"first"
    assert [stat.key for stat in bucket.list("")] == ["a", "other"]
    assert bucket.replace("a", b"ours", bucket.read("a").version)
    bucket.delete(["a"])
    assert content(bucket, "a") is None


def test_who_takes_the_lock_away_may_fall_asleep_itself(bucket: LocalBucket) -> None:
    with asleep(bucket, "replace", 2) as first, asleep(bucket, "write", 1) as second:
        assert bucket.replace("a", b"ours", bucket.read("a").version)
        assert wakes(first) == "refused"
        assert bucket.read("a").data == b"ours"
        assert wakes(second) == "done"
    assert bucket.read("a").data == b"late"
