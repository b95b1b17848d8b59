"""A job of several shapes starts in the best that is free, waits for the first that can be, and costs others nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace as changed
from random import Random

import pytest
from msgspec.structs import replace

from bastion.quota.demand import Holding, Schedule, Start, Want
from bastion.quota.policy.index import WantIndex
from bastion.quota.resources import Resources, fits, minus, plus, total
from tests.unit.quota.policy.fleet import decide, hold, quota, started, stopped, want

BOTH = quota({"v4": 8, "v5p": 8}, nlp={"v4": "0.5", "v5p": "0.5"}, vision={"v4": "0.5", "v5p": "0.5"})


def choosy(job: str, *choices: Resources, project: str = "nlp", **more: int) -> Want:
    return replace(want(job, project, choices[0], **more), choices=choices)


def v4(amount: int) -> Resources:
    return {"v4": amount}


def v5p(amount: int) -> Resources:
    return {"v5p": amount}


def test_the_first_choice_that_is_free_is_taken() -> None:
    one = choosy("c", v4(4), v5p(8))
    assert decide(BOTH, wants=[one]).starts == (Start("c", 0),)
    full = hold("x", "vision", v4(8))
    assert decide(BOTH, wants=[one], holds=[full]).starts == (Start("c", 0, choice=1),)
    third = choosy("c", v4(4), v5p(99), {"v4": 1, "v5p": 1}, v5p(2))
    assert decide(BOTH, wants=[third], holds=[full]).starts == (Start("c", 0, choice=3),)


def test_nobody_is_stopped_for_a_first_choice_while_a_later_one_is_free() -> None:
    borrowed = hold("x", "vision", v4(8))
    assert stopped(decide(BOTH, wants=[want("c", "nlp", v4(4))], holds=[borrowed])) == [("x", 0)]
    answer = decide(BOTH, wants=[choosy("c", v4(4), v5p(4))], holds=[borrowed])
    assert (answer.stops, answer.starts) == ((), (Start("c", 0, choice=1),))


def test_others_are_stopped_for_the_first_choice_only() -> None:
    holds = [hold("x", "vision", v4(8)), hold("y", "vision", v5p(8), order=1)]
    answer = decide(BOTH, wants=[choosy("c", v4(4), v5p(4))], holds=holds)
    assert (started(answer), stopped(answer)) == ([], [("x", 0)])
    assert answer.reasons["c"] == (
        "waits for 4 v4 (1st of 2 choices): first in line: waiting for 4 v4 being freed by vision (ann/x); "
        "else 4 v5p, 0 of 8 v5p free"
    )


def test_what_was_freed_for_one_choice_gives_no_right_to_another() -> None:
    """It is first in line for v4; for the v5p that are free it stands where it stands."""
    holds = [replace(hold("x", "vision", v4(8)), stopping=True), hold("y", "vision", v5p(4), order=1)]
    wants = [choosy("c", v4(4), v5p(4), order=9), want("d", "nlp", v5p(4), order=2)]
    answer = decide(BOTH, wants=wants, holds=holds, reclaims=("c",))
    assert (started(answer), answer.stops) == (["d"], ())
    assert decide(BOTH, wants=wants[:1], holds=holds, reclaims=("c",)).starts == (Start("c", 0, choice=1),)


def test_it_stands_in_line_with_the_first_choice_that_can_be() -> None:
    full = [hold("x", "vision", v4(8)), hold("y", "vision", v5p(8), order=1)]
    answer = decide(BOTH, wants=[choosy("c", {"v6e": 4}, v4(9), v5p(2))], holds=full, delay=1e6)
    assert answer.reasons["c"].startswith("waits for 2 v5p (3rd of 3 choices): needs 2 v5p, 0 of 8 free")
    assert answer.reasons["c"].endswith("; else 4 v6e, more than the fleet has; else 9 v4, more than the fleet has")
    never = decide(BOTH, wants=[choosy("c", {"v6e": 4}, v4(9))])
    assert never.reasons["c"] == "this fleet has no v6e: it can never start; the same holds for each of its 2 choices"


def test_tasks_of_an_array_start_in_one_choice() -> None:
    array = choosy("arr", v4(4), v5p(4), count=5)
    assert decide(BOTH, wants=[array]).starts == (Start("arr", 0),) * 2
    bound = replace(array, choices=(), choice=1, demand=v5p(4), count=3)
    assert decide(BOTH, wants=[bound]).starts == (Start("arr", 0, choice=1),) * 2


def test_several_that_choose_share_what_is_free() -> None:
    wants = [choosy(f"c{n}", v4(4), v5p(4), order=n) for n in range(5)]
    answer = decide(BOTH, wants=wants)
    assert sorted((start.job, start.choice) for start in answer.starts) == [("c0", 0), ("c1", 0), ("c2", 1), ("c3", 1)]
    assert answer.reasons["c4"].startswith("waits for 4 v4 (1st of 2 choices): ")


def test_a_limit_of_one_kind_is_none_of_another() -> None:
    limits = changed(BOTH, user_limits={"nlp": {"v4": 2}})
    assert decide(limits, wants=[choosy("c", v4(4), v5p(4))]).starts == (Start("c", 0, choice=1),)
    answer = decide(changed(BOTH, user_limits={"nlp": {"v4": 2, "v5p": 2}}), wants=[choosy("c", v4(4), v5p(4))])
    assert answer.reasons["c"].endswith("; else 4 v5p, 8 of 8 v5p free, and not its turn")


def drawn(dice: Random) -> Iterator[Want | Holding]:
    """Wants with and without choices, and what is held; the pool is never exceeded."""
    free: Resources = {"v4": 8, "v5p": 8}
    for number in range(dice.randrange(6)):
        demand = {dice.choice(["v4", "v5p"]): dice.randint(1, 5)}
        if fits(demand, free):
            free = minus(free, demand)
            more = {"stopping": dice.random() < 0.2, "age": dice.uniform(0, 900)}
            yield hold(f"h{number}", dice.choice(["nlp", "vision"]), demand, order=number, **more)  # type: ignore[arg-type]
    for number in range(dice.randint(1, 7)):
        choices = [{dice.choice(["v4", "v5p", "v6e"]): dice.randint(1, 9)} for _ in range(dice.randint(1, 4))]
        row = choosy(f"w{number}", *choices, project=dice.choice(["nlp", "vision"]), order=10 + number)
        row = replace(row, count=dice.choice([1, 1, 3]), since=want("", "", {}, waited=dice.uniform(0, 300)).since)
        yield row if len(choices) > 1 else replace(row, choices=())


def told(index: WantIndex) -> object:
    return index.wants, index.holds, index.pending, index.work_classes.keys(), dict.fromkeys(sorted(index.choosers))


@pytest.mark.parametrize("policy", ["default", "axlearn"])
def test_what_is_given_is_there_and_the_board_is_left_as_it_was(policy: str) -> None:
    dice = Random(7)
    moved = waited = 0
    for _ in range(300):
        rows = list(drawn(dice))
        wants, holds = [r for r in rows if isinstance(r, Want)], [r for r in rows if isinstance(r, Holding)]
        by_name = {row.job: row for row in wants}
        reclaims = tuple(row.job for row in wants if dice.random() < 0.1)
        index = WantIndex.of_all(wants, holds)
        before = told(WantIndex.of_all(wants, holds))
        answer = decide(BOTH, index=index, reclaims=reclaims, policy=policy)
        assert told(index) == before
        assert answer.reasons.keys() <= by_name.keys()
        assert told(index) == before
        shuffled = WantIndex.of_all(dice.sample(wants, len(wants)), dice.sample(holds, len(holds)))
        assert decide(BOTH, index=shuffled, reclaims=reclaims, policy=policy) == answer
        assert fits(plus(total(row.demand for row in holds), given(answer, by_name)), {"v4": 8, "v5p": 8})
        assert all(len({start.choice for start in answer.starts if start.job == job}) <= 1 for job in by_name)
        moved += any(start.choice for start in answer.starts)
        waited += any("choices)" in text for text in answer.reasons.values())
    assert moved > 20, "else nothing was tried"
    assert waited > 20, "else nothing was tried"


def given(answer: Schedule, wants: dict[str, Want]) -> Resources:
    rows = ((wants[start.job], start.choice) for start in answer.starts)
    return total(row.choices[choice] if row.choices else row.demand for row, choice in rows)
