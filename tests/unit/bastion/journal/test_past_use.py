"""What users held counts the less the longer ago it was: exactly so, from any journal, in a state that stays small."""

from __future__ import annotations

from datetime import timedelta
from math import log
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bastion.journal.recent_usage import lighter, past
from bastion.journal.recover import pack_snapshot, unpack_snapshot
from bastion.model.codec import encode
from bastion.model.state.decayed_usage import FADED, DecayedUsage
from bastion.model.state.state import Cause, JobState
from bastion.model.stored.events import AnyEvent, Ended, FileChanged, Started, Submitted, Voided
from tests.depth import examples
from tests.support.doors import folded
from tests.support.world import NOON, spec

CAPACITY = {"v4": 100, "cpu": 1_000}
WEEK_S = 7 * 86_400.0


def submitted(job: str, **fields: Any) -> Submitted:
    return Submitted(request=f"r-{job}", job=job, spec=spec(**fields))


def config(half_life: float) -> FileChanged:
    return FileChanged(file="config", version=str(half_life), text=f"usage_half_life = {half_life}")


class Story:
    """A journal told by the second."""

    def __init__(self, *jobs: Submitted, half_life_s: float = 3600.0) -> None:
        self.state = folded(config(half_life_s), *jobs)

    def at(self, seconds: float, *events: AnyEvent) -> Story:
        self.state.now = NOON + timedelta(seconds=seconds)
        folded(*events, state=self.state)
        return self

    def begins(self, seconds: float, job: str, task: int = 0) -> Story:
        return self.at(seconds, Started(**self._next(job, task, 0), runner="local", tier=0, workers=1))

    def ends(self, seconds: float, job: str, task: int = 0) -> Story:
        at = self._next(job, task, -1)
        return self.at(
            seconds, Voided(**at, worker=0), Ended(**at, cause=Cause.VOID, outcome=JobState.PENDING, reason="")
        )

    def _next(self, job: str, task: int, off: int) -> dict[str, Any]:
        known = self.state.jobs[job].tasks.get(task)
        return {"job": job, "task": task, "attempt": (len(known.attempts) if known else 0) + off}

    def use(self, seconds: float, user: str = "alice", project: str = "nlp") -> float:
        return past(self.state, CAPACITY, NOON + timedelta(seconds=seconds)).get((project, user), 0.0)


def integral(begin_s: float, end_s: float, now_s: float, half_life_s: float) -> float:
    """The hours between these moments, each weighed by its age now: the plain integral of one attempt."""
    rate = log(2) / half_life_s
    weight = 2.0 ** ((end_s - now_s) / half_life_s) - 2.0 ** ((begin_s - now_s) / half_life_s)
    return weight / rate / 3600


def test_an_hour_of_a_tenth_of_the_pool_is_a_tenth_of_a_pool_hour_and_half_of_it_a_half_life_later() -> None:
    story = Story(submitted("j", user="alice", project="nlp", resources={"v4": 10, "cpu": 1}), half_life_s=WEEK_S)
    story.begins(0, "j")
    assert story.use(3600) == pytest.approx(0.1, rel=0.01)
    story.ends(3600, "j")
    assert story.use(3600 + WEEK_S) == pytest.approx(story.use(3600) / 2)


def test_the_largest_part_counts_of_the_kinds_that_the_pool_has() -> None:
    story = Story(submitted("j", user="alice", project="nlp", resources={"v4": 1, "cpu": 100, "v3": 10**6}))
    story.begins(0, "j").ends(60, "j")
    assert story.use(60) == pytest.approx(100 / 1_000 / 60, rel=0.01)


def test_who_holds_for_ever_comes_to_rest_where_as_much_fades_as_comes() -> None:
    story = Story(submitted("j", user="alice", project="nlp", resources={"v4": 100})).begins(0, "j")
    assert story.use(10**7) == pytest.approx(1 / log(2))


_spans = st.lists(st.tuples(st.integers(0, 2), st.integers(1, 5_000), st.integers(0, 5_000)), min_size=1, max_size=12)


@settings(max_examples=examples(100), deadline=None)
@given(_spans, st.floats(60, 10**6), st.integers(0, 20_000))
def test_it_is_the_integral_over_all_attempts(
    spans: list[tuple[int, int, int]], half_life_s: float, later: int
) -> None:
    sizes = (1, 7, 64)
    jobs = [
        submitted(f"j{n}", user="alice", project="nlp", resources={"v4": sizes[n]}, replicas=2, count=99)
        for n in range(3)
    ]
    story = Story(*jobs, half_life_s=half_life_s)
    moments = sorted(
        row
        for task, (n, length, begin) in enumerate(spans)
        for row in ((begin, 0, n, task), (begin + length, 1, n, task))
    )
    for moment, is_end, n, task in moments:
        if not is_end:
            story.at(moment, Started(job=f"j{n}", task=task, attempt=0, runner="local", tier=0, workers=1))
        else:
            story.ends(moment, f"j{n}", task)
    now = moments[-1][0] + later
    wanted = sum(2 * sizes[n] / 100 * integral(begin, begin + length, now, half_life_s) for n, length, begin in spans)
    assert story.use(now) == pytest.approx(wanted, rel=1e-6, abs=FADED / 100)


@settings(max_examples=examples(50), deadline=None)
@given(_spans, st.floats(60, 10**6), st.integers(0, 20_000))
def test_it_may_be_asked_at_any_moment_while_things_run(
    spans: list[tuple[int, int, int]], half_life_s: float, now: int
) -> None:
    story = Story(submitted("j", user="alice", project="nlp", resources={"v4": 3}, count=99), half_life_s=half_life_s)
    begun = sorted((begin, task) for task, (_, _, begin) in enumerate(spans) if begin <= now)
    for begin, task in begun:
        story.begins(begin, "j", task)
    wanted = sum(3 / 100 * integral(begin, now, now, half_life_s) for begin, _ in begun)
    assert story.use(now) == pytest.approx(wanted, rel=1e-6)


def test_a_new_half_life_counts_from_then_on() -> None:
    story = Story(submitted("j", user="alice", project="nlp", resources={"v4": 100})).begins(0, "j").ends(3600, "j")
    story.at(7200, config(36_000))
    before = story.use(7200)
    assert before == pytest.approx(integral(0, 3600, 7200, 3600))
    assert story.use(7200 + 36_000) == pytest.approx(before / 2)
    story.at(50_000, config(0))
    assert story.use(50_000) == 0
    story.begins(60_000, "j").at(70_000, config(3600))
    assert story.use(70_000) == 0, "what was while there was no history is not told of"
    assert story.use(73_600) == pytest.approx(integral(70_000, 73_600, 73_600, 3600))


def test_settings_that_cannot_be_read_change_nothing() -> None:
    story = Story(submitted("j", user="alice", project="nlp", resources={"v4": 100})).begins(0, "j")
    story.at(60, FileChanged(file="config", version="2", text="half_of = 3"))
    story.at(60, FileChanged(file="quota", version="2", text="usage_half_life = 3"))
    assert story.state.used
    assert story.state.used.half_life_s == 3600


def test_without_settings_a_week_is_the_half_life() -> None:
    story = Story(submitted("j", user="alice", project="nlp")).at(0, FileChanged(file="config", version="2", text=""))
    assert story.state.used == DecayedUsage(half_life_s=WEEK_S)


def test_users_and_projects_are_told_apart() -> None:
    jobs = [submitted(f"{u}-{p}", user=u, project=p) for u in ("alice", "b@o+b.c") for p in ("nlp", "nlp-2")]
    story = Story(*jobs).begins(0, "b@o+b.c-nlp-2")
    found = past(story.state, CAPACITY, NOON + timedelta(hours=1))
    assert list(found) == [("nlp-2", "b@o+b.c")]
    assert len(found) == 1
    assert found["nlp-2", "b@o+b.c"] > 0
    with pytest.raises(KeyError):
        found["nlp", "alice"]


def test_who_holds_nothing_and_whose_use_has_faded_is_forgotten() -> None:
    jobs = [submitted(f"j{n}", user=f"u{n}", project="nlp", resources={"v4": 100}, count=9) for n in range(200)]
    story = Story(*jobs)
    for n in range(200):
        story.begins(n, f"j{n}").ends(n + 0.5, f"j{n}")
    assert story.state.used
    assert len(story.state.used.rows) == 200
    story.begins(200, "j7")
    for n in range(210):
        story.begins(10**6 + n, "j0", 1).ends(10**6 + n + 0.5, "j0", 1)
    assert set(story.state.used.rows) == {"nlp/u0", "nlp/u7"}


def test_without_a_half_life_nobody_who_holds_nothing_is_kept() -> None:
    jobs = [submitted(f"j{n}", user=f"u{n}", project="nlp") for n in range(9)]
    story = Story(*jobs, half_life_s=0)
    for n in range(9):
        story.begins(n, f"j{n}").ends(n + 0.5, f"j{n}")
    assert story.state.used
    assert len(story.state.used.rows) <= 1


def test_a_snapshot_of_a_version_that_kept_nothing_is_completed_from_what_it_knows() -> None:
    story = Story(submitted("j", user="alice", project="nlp", resources={"v4": 100}, count=9))
    rng, running = Random(1), set[int]()
    for moment in range(0, 20_000, 100):
        task = rng.randrange(9)
        (story.ends if task in running else story.begins)(moment, "j", task)
        running ^= {task}
    wanted = [story.use(20_000), story.use(90_000)]
    old = unpack_snapshot(pack_snapshot(story.state), "old")
    old.used = None
    story.state = unpack_snapshot(pack_snapshot(old), "old")
    assert [story.use(20_000), story.use(90_000)] == pytest.approx(wanted)
    story.ends(30_000, "j", next(iter(running)))


def test_a_state_from_a_snapshot_goes_on_as_the_one_that_was_packed() -> None:
    story = Story(submitted("j", user="alice", project="nlp", resources={"v4": 3}, count=9)).begins(0, "j")
    story.begins(333.3, "j", 1).ends(1000.1, "j")
    other = unpack_snapshot(pack_snapshot(story.state), "snapshot")
    assert encode(other) == encode(story.state)
    went_on = encode(story.ends(5000, "j", 1).state)
    story.state = other
    assert encode(story.ends(5000, "j", 1).state) == went_on


def test_users_who_used_less_and_wait_go_first() -> None:
    who = {"alice": 100, "bob": 50, "carol": 10, "dan": 1}
    jobs = [submitted(user, user=user, project="nlp", resources={"v4": n}, count=2) for user, n in who.items()]
    story = Story(*jobs, submitted("eve", user="eve", project="vision"), submitted("zoe", user="zoe", project="nlp"))
    for user in who:
        story.begins(0, user)
    story.begins(0, "carol", 1)
    found = past(story.state, CAPACITY, NOON + timedelta(hours=1))
    told = lighter(story.state, story.state.jobs["bob"], found)
    assert [user for user, _ in told] == ["zoe", "dan"], "carol has nothing that waits, and eve is of another project"
    assert told[1][1] == found["nlp", "dan"]
