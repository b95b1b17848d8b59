"""Following shows every line once, attempt after attempt, and ends as the job does."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest

from bastion.launcher.logs.log_lines import LogSelection, pattern, worker_list
from bastion.launcher.logs.task_follower import END_MARKER_S, LOOK_S, FollowContext, FollowOutput, follow, snapshot
from bastion.launcher.read.job_lookup import find
from bastion.model import layout
from bastion.model.durations import moment
from bastion.model.errors import AccessDenied, BastionError, BucketError
from bastion.model.interfaces import AttemptKey, Bucket, StoredObject
from bastion.model.state.state import Cause, JobState
from bastion.model.stored.events import CancelRequested, Claimed, Ended, Gone, Started, Voided
from bastion.stores.memory import MemoryBucket
from tests.support.world import NOON, World


class Seen:
    """What a user sees: the log, and the notes."""

    def __init__(self, world: World, bucket: Bucket | None = None) -> None:
        self.lines: list[str] = []
        self.notes: list[str] = []
        self._world, self._bucket = world, bucket or world.bucket

    def follow(self, word: str = "j", **choice: Any) -> int:
        """Follow to the end."""
        return self._show(follow, word, LogSelection(**choice))

    def snapshot(self, word: str = "j", **choice: Any) -> int:
        """Look once."""
        return self._show(snapshot, word, LogSelection(**choice))

    def _show(self, show: Any, word: str, choice: LogSelection) -> int:
        world = self._world
        context = FollowContext(bucket=self._bucket, clock=world.clock, tasks=world.tasks, reader=world.reader())
        found = find(word, world.look())
        screen = FollowOutput(lines=self.lines.extend, note=self.notes.append)
        code: int = show(context, found, found.task or 0, choice, screen)
        return code


def ended(world: World, key: AttemptKey, *, code: int = 0) -> None:
    """The attempt is over for good."""
    outcome = JobState.FAILED if code else JobState.SUCCEEDED
    world.ends(key, Cause.CODE if code else Cause.OK, outcome, code=code)


def test_lines_are_shown_as_they_come_until_the_end_marker() -> None:
    world, seen = World(), None
    key = world.runs(world.submitted())
    world.prints(key, "one\ntw")
    world.clock.script = [
        lambda: world.prints(key, "o\nthree", number=1),
        lambda: world.prints(key, "", number=2),
        lambda: ended(world, key, code=7),
    ]
    seen = Seen(world)

    assert seen.follow() == 7
    assert seen.lines == ["one", "two", "three"]


def test_a_job_that_waits_is_waited_for_and_says_why() -> None:
    world = World()
    world.asked(name="j")
    keys: list[AttemptKey] = []

    def begins() -> None:
        keys.append(world.runs(world.submitted()))
        world.prints(keys[0], "hello\n")
        world.prints(keys[0], "", number=1)

    world.clock.script = [lambda: None, begins, lambda: ended(world, keys[0])]
    seen = Seen(world)

    assert seen.follow() == 0
    assert seen.lines == ["hello"]
    assert seen.notes == ["j is PENDING: the scheduler has not picked it up yet (never active)"]


def test_between_attempts_stands_why_the_first_one_ended() -> None:
    world = World()
    job = world.submitted()
    key = world.runs(job)
    world.prints(key, "step 1\n")
    world.prints(key, "", number=1)

    def again() -> None:
        second = world.runs(job, attempt=1)
        world.prints(second, "step 2\n")
        world.prints(second, "", number=1)
        ended(world, second)

    preempted = "reclaimed for vision/vit (bob)"
    world.clock.script = [
        lambda: world.ends(key, Cause.PREEMPTED, JobState.PENDING, code=143, reason=preempted),
        lambda: None,
        again,
    ]
    seen = Seen(world)

    assert seen.follow() == 0
    assert seen.lines == ["step 1", f"--- attempt 0 ended: {preempted}; attempt 1 follows ---", "step 2"]


def test_without_an_end_marker_a_follower_stops_30_s_after_the_journal_says_ended() -> None:
    world = World()
    key = world.runs(world.submitted())
    world.prints(key, "last words")
    world.clock.script = [lambda: ended(world, key, code=1)]
    seen = Seen(world)

    assert seen.follow() == 1
    assert seen.lines == ["last words"]
    assert 30 <= world.clock.now <= 30 + LOOK_S + 1


def test_a_late_tail_within_the_30_s_is_shown() -> None:
    world = World()
    key = world.runs(world.submitted())
    late = [lambda: world.prints(key, "late\n"), lambda: world.prints(key, "", number=1)]
    world.clock.script = [lambda: ended(world, key), *[lambda: None] * 40, *late]
    seen = Seen(world)

    assert seen.follow() == 0
    assert seen.lines == ["late"]
    assert world.clock.now < 30


def test_several_workers_are_told_apart_by_their_prefix() -> None:
    world = World()
    key = world.runs(world.submitted(replicas=2), workers=2)
    for worker in (0, 1):
        world.prints(key, f"rank {worker}\n", worker=worker)
        world.prints(key, "", worker=worker, number=1)
    world.clock.script = [lambda: ended(world, key)]
    seen, one = Seen(world), Seen(world)

    assert seen.follow() == 0
    assert one.snapshot(workers=frozenset({1})) == 0
    assert sorted(seen.lines) == ["[w000] rank 0", "[w001] rank 1"]
    assert one.lines == ["[w001] rank 1"]


def test_a_follower_tells_the_worker_that_somebody_looks_at_most_every_30_s() -> None:
    world = World()
    key = world.runs(world.submitted())
    versions: list[str] = []
    watch = layout.watch(key.job, 0)

    def note() -> None:
        versions.append(world.bucket.read(watch).version)

    world.clock.script = [*[note] * 130, lambda: world.prints(key, ""), lambda: ended(world, key)]

    assert Seen(world).follow() == 0
    assert len(set(versions)) == 3, "after 0, 30 and 60 s of 65"


def test_a_job_that_is_cancelled_while_it_waits_ends_the_following() -> None:
    world = World()
    job = world.submitted()
    world.clock.script = [lambda: world.happens(CancelRequested(request="c", user="alice", job=job))]
    seen = Seen(world)

    assert seen.follow() == 103
    assert seen.lines == []


def test_a_request_that_vanished_without_a_job_was_rejected() -> None:
    world = World()
    world.asked()
    key = layout.request("alice", "r" * 32)
    world.clock.script = [lambda: world.bucket.delete([key])]

    assert Seen(world).follow() == 104


class Faulty(MemoryBucket):
    """A store that is away for a while, for reads of one prefix."""

    def __init__(self, world: World, prefix: str, error: type[BucketError], times: int) -> None:
        super().__init__(world.bucket.url)
        self._prefix, self._error, self.times = prefix, error, times

    def read(self, key: str, limit: int | None = None) -> StoredObject:
        """The object, or the fault."""
        if key.startswith(self._prefix) and self.times:
            self.times -= 1
            raise self._error("the store is away")
        return super().read(key, limit)


def test_a_store_that_is_away_for_a_while_loses_and_repeats_nothing() -> None:
    world = World()
    key = world.runs(world.submitted())
    for number, text in enumerate(("one\n", "two\n", "three\n", "")):
        world.prints(key, text, number=number)
    world.clock.script = [lambda: ended(world, key)]
    second = layout.segment(layout.log(key, 0), 1)
    seen = Seen(world, Faulty(world, second, BucketError, times=3))

    assert seen.follow() == 0
    assert seen.lines == ["one", "two", "three"]
    assert seen.notes == ["the store is away; retrying"]


def test_a_store_that_says_no_is_believed() -> None:
    world = World()
    world.prints(world.runs(world.submitted()), "secret\n")

    with pytest.raises(AccessDenied):
        Seen(world, Faulty(world, layout.LOGS, AccessDenied, times=1)).follow()


def test_a_snapshot_returns_at_once_with_what_is_there() -> None:
    world = World()
    key = world.runs(world.submitted())
    world.prints(key, "one\ntwo")
    seen = Seen(world)

    assert seen.snapshot() == 101
    assert seen.lines == ["one", "two"]
    assert world.clock.now == 0


def test_a_snapshot_of_a_job_that_never_began_is_empty() -> None:
    world = World()
    world.asked()
    seen = Seen(world)

    assert seen.snapshot() == 101
    assert seen.lines == []


def test_a_snapshot_shows_the_attempt_that_is_asked_for() -> None:
    world = World()
    job = world.submitted()
    for attempt in (0, 1):
        key = world.runs(job, attempt=attempt)
        world.prints(key, f"attempt {attempt}\n")
        world.ends(key, Cause.LOST, JobState.PENDING)
    newest, first = Seen(world), Seen(world)
    newest.snapshot()
    first.snapshot(attempt=0)

    assert (newest.lines, first.lines) == (["attempt 1"], ["attempt 0"])
    with pytest.raises(BastionError, match="j has no attempt 2; it has had 2, numbered from 0"):
        Seen(world).snapshot(attempt=2)


def test_the_tail_is_the_last_lines_and_following_goes_on_from_there() -> None:
    world = World()
    key = world.runs(world.submitted())
    world.prints(key, "".join(f"{n}\n" for n in range(10)))
    world.prints(key, "10\n1", number=1)
    world.clock.script = [
        lambda: world.prints(key, "1\n12\n", number=2),
        lambda: world.prints(key, "", number=3),
        lambda: ended(world, key),
    ]
    seen, none = Seen(world), Seen(world)
    none.snapshot(tail=0)

    assert seen.follow(tail=3) == 0
    assert seen.lines == ["9", "10", "11", "12"]
    assert none.lines == []


def test_the_tail_is_of_the_first_attempt_that_is_shown() -> None:
    world = World()
    job = world.submitted()
    first = world.runs(job)
    world.prints(first, "1\n2\n")
    world.prints(first, "", number=1)

    def again() -> None:
        world.ends(first, Cause.LOST, JobState.PENDING)
        second = world.runs(job, attempt=1)
        world.prints(second, "3\n4\n")
        world.prints(second, "", number=1)
        ended(world, second)

    world.clock.script = [again]
    seen = Seen(world)
    seen.follow(tail=1)

    assert seen.lines == ["2", "--- attempt 0 ended: machine lost; attempt 1 follows ---", "3", "4"]


def test_grep_keeps_the_lines_in_which_it_is_found() -> None:
    world = World()
    world.prints(world.runs(world.submitted()), "loss 1\nstep\nloss 2\n")
    seen = Seen(world)
    seen.snapshot(grep=re.compile("^loss"))

    assert seen.lines == ["loss 1", "loss 2"]


def test_since_begins_with_what_was_stored_after_it() -> None:
    world = World()
    key = world.runs(world.submitted())
    world.prints(key, "old\n")
    stored = next(iter(world.bucket.list(layout.log(key, 0)))).modified
    seen, later = Seen(world), Seen(world)
    seen.snapshot(since=stored)
    later.snapshot(since=stored.replace(year=stored.year + 1))

    assert (seen.lines, later.lines) == (["old"], [])


def test_a_moment_is_a_length_of_time_ago_or_a_time_with_its_zone() -> None:
    for ago in ("10m", "10m ago", "-10m"):
        assert moment(ago, NOON) == NOON.replace(hour=11, minute=50)
    assert moment("2026-01-31T12:00:00Z", NOON) == NOON
    assert moment("2026-01-31T12:00:00+02:00", NOON) == NOON.replace(hour=10)
    for wrong in ("2026-01-31T12:00:00", "yesterday", "2026-99-01T00:00:00Z", "", "ago", "24:00", "9:5", "--10m"):
        with pytest.raises(BastionError, match="--since is"):
            moment(wrong, NOON)


@pytest.mark.parametrize(
    ("text", "hours_ago"), [("11:00", 1), ("11:00:00", 1), ("9:30", 2.5), ("12:00", 0), ("12:01", 23 + 59 / 60)]
)
def test_a_time_of_day_is_the_last_one_that_is_over(text: str, hours_ago: float) -> None:
    assert moment(text, NOON) == NOON - timedelta(hours=hours_ago)


def test_workers_and_patterns_are_checked() -> None:
    assert worker_list("0,3-5, 7") == {0, 3, 4, 5, 7}
    for wrong in ("", "a", "1-", "-1", "1,,2"):
        with pytest.raises(BastionError, match="--worker is"):
            worker_list(wrong)
    with pytest.raises(BastionError, match=r"--grep is '\('"):
        pattern("(")


def test_a_worker_that_never_came_has_no_end_marker_to_wait_for() -> None:
    world = World()
    job = world.submitted(replicas=2)
    at = {"job": job, "task": 0, "attempt": 0}
    world.happens(
        Started(**at, runner="local", tier=0, workers=2),  # type: ignore[arg-type]
        Claimed(**at, worker=0, machine="m0"),  # type: ignore[arg-type]
        Voided(**at, worker=1),  # type: ignore[arg-type]
        Gone(**at, worker=0),  # type: ignore[arg-type]
    )
    key = AttemptKey(job, 0, 0)
    world.prints(key, "")
    world.clock.script = [
        lambda: world.happens(Ended(**at, cause=Cause.VOID, outcome=JobState.FAILED, reason=""))  # type: ignore[arg-type]
    ]

    assert Seen(world).follow() == 100
    assert world.clock.now < END_MARKER_S
