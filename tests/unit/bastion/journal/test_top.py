"""To the top of one's own jobs: they deal their places among themselves, and nobody else's place changes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bastion.model.state.state import Cause, State
from bastion.model.stored.events import CapacityChanged, RequestRejected, Started, Submitted, Topped
from bastion.model.stored.requests import Top
from tests.support.doors import folded
from tests.support.town import Town
from tests.support.world import spec

USERS = ("ann", "bob")


def submitted(number: int, user: str, priority: int, project: str = "default") -> Submitted:
    wanted = spec(user=user, priority=priority, project=project)
    return Submitted(request=f"r{number}", job=f"j{number}", spec=wanted)


def top(job: str) -> Topped:
    return Topped(request="t", user="ann", job=job)


def line(state: State, user: str) -> list[str]:
    """The user's jobs in the order of their places."""
    return sorted((job.id for job in state.jobs.values() if job.user == user), key=lambda name: state.jobs[name].order)


def test_the_others_move_back_by_one() -> None:
    state = folded(*(submitted(number, "ann", 5) for number in range(4)))
    folded(top("j2"), state=state)
    assert line(state, "ann") == ["j2", "j0", "j1", "j3"]
    folded(top("j3"), top("j3"), state=state)
    assert line(state, "ann") == ["j3", "j2", "j0", "j1"]
    folded(submitted(4, "ann", 5), state=state)
    assert line(state, "ann") == ["j3", "j2", "j0", "j1", "j4"], "who comes later is behind"


@given(
    st.lists(st.tuples(st.sampled_from(USERS), st.integers(4, 5), st.sampled_from("pq")), min_size=1, max_size=8),
    st.lists(st.integers(0, 7), max_size=5),
)
def test_nobody_elses_place_changes_and_the_own_places_stay_the_same(
    jobs: list[tuple[str, int, str]], tops: list[int]
) -> None:
    state = folded(*(submitted(number, *job) for number, job in enumerate(jobs)))
    groups = {(job.user, job.priority, job.project) for job in state.jobs.values()}

    def places(group: tuple[str, int, str]) -> list[int]:
        return sorted(job.order for job in state.jobs.values() if (job.user, job.priority, job.project) == group)

    before = {group: places(group) for group in groups}
    for number in (number for number in tops if number < len(jobs)):
        job = state.jobs[f"j{number}"]
        own = (job.user, job.priority, job.project)
        alike = {other.id for other in state.jobs.values() if (other.user, other.priority, other.project) == own}
        others = [name for name in line(state, job.user) if name in alike - {job.id}]
        untouched = {other.id: other.order for other in state.jobs.values() if other.id not in alike}
        folded(top(job.id), state=state)
        assert {group: places(group) for group in groups} == before
        assert {name: state.jobs[name].order for name in untouched} == untouched
        assert [name for name in line(state, job.user) if name in alike] == [job.id, *others]


def test_what_runs_keeps_its_place() -> None:
    state = folded(
        CapacityChanged(runner="local", resources={"cpu": 1}),
        *(submitted(number, "ann", 5) for number in range(3)),
        Started(job="j0", task=0, attempt=0, runner="local", tier=0, workers=1),
    )
    first = state.jobs["j0"].order
    folded(top("j2"), state=state)
    assert line(state, "ann") == ["j0", "j2", "j1"]
    assert state.jobs["j0"].order == first


def test_the_top_one_starts_next_and_no_earlier_than_its_user_was_due() -> None:
    town = Town()
    first = town.submits(name="first", user="bob", resources={"cpu": 8})
    town.ticks()
    key = town.runs(first)
    one = town.submits(name="one", resources={"cpu": 8})
    town.ticks()
    theirs = town.submits(name="theirs", user="eve", resources={"cpu": 8})
    town.ticks()
    two = town.submits(name="two", resources={"cpu": 8})
    town.ticks()
    town.asks(Top(job=two))
    town.ticks()
    order = []
    for _ in range(3):
        town.ends(key, Cause.OK, 0)
        (key,) = [key for key, _, _ in town.bastion.journal.state.live_attempts()]
        town.runs(key.job)
        order.append(key.job)
    assert order == [two, theirs, one], "eve's job is second, as it was before"


def test_who_does_not_wait_or_is_somebody_elses_is_refused() -> None:
    town = Town()
    job = town.submits()
    town.ticks()
    town.asks(Top(job=job))
    town.asks(Top(job=job), "eve")
    town.ticks()
    told = [event.reason for event in town.journal() if isinstance(event, RequestRejected)]
    assert sorted(told) == [
        f"job {job} belongs to alice; only alice and admins may move it",
        f"job {job} is not waiting, so it has no place to move up from",
    ]
