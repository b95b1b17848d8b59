"""The least amounts that suffice: they do, one unit less does not, and few questions find them."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given, settings
from hypothesis import strategies as st

from bastion.launcher.explain.smallest import least
from tests.depth import examples

LAW = settings(max_examples=examples(100), derandomize=True, deadline=None)
KINDS = ("a", "b", "c")


class Asked:
    """Whether amounts are enough, and how often that was asked."""

    def __init__(self, enough: Mapping[str, int]) -> None:
        self.enough, self.times = enough, 0

    def __call__(self, amounts: Mapping[str, int]) -> bool:
        self.times += 1
        return all(amounts[kind] >= n for kind, n in self.enough.items())


@LAW
@given(st.data())
def test_where_more_is_better_it_is_the_least(data: st.DataObject) -> None:
    kinds = KINDS[: data.draw(st.integers(1, 3))]
    top = {kind: data.draw(st.integers(1, 1_000)) for kind in kinds}
    guess = {kind: data.draw(st.integers(0, top[kind])) for kind in kinds}
    enough = {kind: data.draw(st.integers(0, top[kind] + 1)) for kind in kinds}
    asked = Asked(enough)

    found = least(guess, top, asked)

    if not any(enough.values()):
        return  # nothing is known not to be enough: then nobody asks
    assert found == (enough if all(enough[kind] <= top[kind] for kind in kinds) else None)
    assert asked.times <= 2 + 13 * len(kinds)


@LAW
@given(st.sets(st.integers(1, 60), min_size=1), st.integers(0, 60))
def test_where_more_may_be_worse_it_works_and_one_less_does_not(working: set[int], guess: int) -> None:
    found = least({"n": guess}, {"n": 60}, lambda amounts: amounts["n"] in working)

    if found is None:
        assert guess not in working
        assert 60 not in working
    else:
        assert found["n"] in working
        assert found["n"] - 1 not in working


def test_a_good_guess_takes_two_questions_an_amount() -> None:
    asked = Asked({"a": 500})
    assert least({"a": 500}, {"a": 1_000}, asked) == {"a": 500}
    assert asked.times == 2


def test_nothing_is_asked_twice_and_nothing_at_all_never() -> None:
    seen: list[tuple[int, ...]] = []

    def works(amounts: Mapping[str, int]) -> bool:
        seen.append(tuple(amounts.values()))
        return amounts["a"] >= 3

    assert least({"a": 0, "b": 0}, {"a": 9, "b": 9}, works) == {"a": 3, "b": 0}
    assert len(seen) == len(set(seen))
    assert (0, 0) not in seen
