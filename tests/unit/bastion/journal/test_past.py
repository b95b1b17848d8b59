"""Any moment of the past is near: snapshots of old times stay, sparsely, and what one of them lacks is folded."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from bastion.journal import point_in_time, recover, snapshot
from bastion.journal.fold import fold
from bastion.journal.recover import objects, one_by_one
from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.state.state import State
from bastion.model.stored.events import CapacityChanged, Decided
from bastion.model.stored.journal_object import Gaps, digest
from tests.support.doors import FaultyBucket
from tests.support.world import NOON, World


def grown(number: int, *, every: int = 4) -> World:
    """So many objects, a second apart, and a snapshot after every fourth."""
    world = World()
    for size in range(1, number):
        world.clock.now += 1
        world.happens(CapacityChanged(runner="local", resources={"v4": size}))
        if size % every == 0:
            snapshot.make(world.bucket)
    return world


def at(second: float) -> datetime:
    return NOON + timedelta(seconds=second)


def below(bucket: FaultyBucket, number: int, said: list[str] | None = None) -> State:
    return point_in_time.state_below(bucket, number, one_by_one, Gaps(), (said if said is not None else []).append)


def truth(world: World, number: int) -> State:
    state = State()
    for record in list(objects(world.bucket, 0))[:number]:
        fold(state, record, digest(world.bucket.read(layout.journal(record.seq)).data))
    return state


@pytest.fixture
def near(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "FAR", 10)
    monkeypatch.setattr(point_in_time, "LONG", 20)


@pytest.mark.usefixtures("near")
def test_between_two_that_stay_it_is_never_far() -> None:
    numbers = recover.snapshots(grown(100).bucket)
    gaps = [after - before for before, after in zip([0, *numbers], numbers, strict=False)]
    assert max(gaps) <= 10
    assert len(numbers) <= 3 + 100 / 6


@pytest.mark.usefixtures("near")
def test_those_that_stay_stay_for_ever() -> None:
    before = recover.snapshots(grown(60).bucket)[:-3]
    assert before
    assert set(before) <= set(recover.snapshots(grown(100).bucket))


def test_a_few_large_objects_are_far_too(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(recover.snapshots(grown(60).bucket)) == 3
    monkeypatch.setattr(snapshot, "FAR_BYTES", 2_000)  # an object has some 200
    assert len(recover.snapshots(grown(60).bucket)) > 5


def test_thinning_out_asks_for_no_more_pages_than_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    world = grown(100, every=1_000)
    monkeypatch.setattr(snapshot, "FAR", 10)
    seen = []

    class Counting(FaultyBucket):
        def list(self, prefix: str, *, after: str = ""):  # type: ignore[no-untyped-def]
            for stat in self.inner.list(prefix, after=after):
                seen.append(stat.key)
                yield stat

    assert snapshot._far(Counting(inner=world.bucket), 5, 90)
    assert seen == [layout.journal(number) for number in range(5, 16)]


@pytest.mark.usefixtures("near")
@pytest.mark.parametrize("number", [0, 1, 3, 4, 5, 37, 98, 100])
def test_the_state_of_any_place_is_the_fold_of_what_is_below(number: int) -> None:
    world = grown(100)
    bucket = FaultyBucket(inner=world.bucket)
    assert encode(below(bucket, number)) == encode(truth(world, number))
    assert len([key for verb, key in bucket.calls if verb == "read"]) <= 11


@pytest.mark.usefixtures("near")
@pytest.mark.parametrize(
    "spoil", [lambda bucket, key: bucket.delete([key]), lambda bucket, key: bucket.write(key, b"")]
)
def test_a_milestone_that_is_damaged_or_gone_only_costs_time(spoil: Callable[..., None]) -> None:
    world, said = grown(100), list[str]()
    bucket = FaultyBucket(inner=world.bucket)
    for number in recover.snapshots(world.bucket):
        if 30 < number < 61:
            spoil(world.bucket, layout.snapshot(number))
    assert encode(below(bucket, 60, said)) == encode(truth(world, 60))
    [line] = said
    assert line.endswith("journal objects: no snapshot below number 60 is closer")


def test_a_moment_is_after_all_objects_of_its_time() -> None:
    world = grown(50)
    world.happens(CapacityChanged(runner="other", resources={}))  # of the same second
    after = {
        second: point_in_time.number_after(world.bucket, at(second), one_by_one) for second in (-1, 0, 0.5, 20, 49, 60)
    }
    assert after == {-1: 0, 0: 1, 0.5: 1, 20: 21, 49: 51, 60: 51}


def test_to_find_a_moment_costs_a_few_reads() -> None:
    world = grown(300)
    bucket = FaultyBucket(inner=world.bucket)
    assert point_in_time.number_after(bucket, at(200), one_by_one) == 201
    assert len(bucket.calls) <= 2 + 3 * 16


def test_a_hole_on_the_way_is_named() -> None:
    world, holes = grown(20, every=100), Gaps()
    world.bucket.delete([layout.journal(7)])
    state = point_in_time.state_below(world.bucket, 15, one_by_one, holes, print)
    assert (state.seq, holes.found[0].first) == (15, 7)


def test_a_moment_is_found_over_objects_that_cannot_be_read() -> None:
    world = grown(100)
    for number in (0, 20, 21, 22, 50):
        world.bucket.delete([layout.journal(number)])
    world.bucket.write(layout.journal(60), b"rubbish")
    world.bucket.write(layout.journal(70), world.bucket.read(layout.journal(69)).data)
    found = {
        second: point_in_time.number_after(world.bucket, at(second), one_by_one) for second in (10, 40, 55, 65, 75)
    }
    assert found == {10: 11, 40: 41, 55: 56, 65: 66, 75: 76}


def test_the_last_decision_below_a_number_is_found() -> None:
    world = grown(80)
    world.happens(Decided())
    for _ in range(70):
        world.happens(CapacityChanged(runner="local", resources={"v4": 9}))
    assert point_in_time.decision_below(world.bucket, 150, one_by_one) == 80
    assert point_in_time.decision_below(world.bucket, 81, one_by_one) == 80
    assert point_in_time.decision_below(world.bucket, 80, one_by_one) is None
