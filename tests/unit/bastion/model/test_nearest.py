"""The nearest word is found, and quickly among a hundred thousand."""

from __future__ import annotations

from bastion.model.nearest import MANY, did_you_mean, nearest


def test_the_nearest_of_a_few_and_of_many() -> None:
    few = ["train", "eval", "Vision"]
    many = [*few, *(f"job-{number}" for number in range(3 * MANY))]
    for words in (few, many):
        assert nearest("trainn", words) == "train"
        assert nearest("VISON", words) == "Vision"
        assert nearest("zzz", words) is None
    assert did_you_mean("job-17x", many, "else") == "did you mean job-17?"
    assert did_you_mean("", [], "else") == "else"
