"""A job goes to the first runner that has all it wants; what no runner has is in no pool."""

from __future__ import annotations

import pytest

from bastion.errors import RunnerError
from bastion.events import CapacityChanged
from bastion.instances import KINDS
from bastion.placing import Offers, misshapen, offered, offers, runner_of
from bastion.state import JobState
from tests.unit.bastion.doors import HandRunner, folded
from tests.unit.bastion.town import Town

TPU, GCE = frozenset(KINDS["tpu"]), frozenset(KINDS["gpu"]) | {"cpu", "memory"}
LOCAL = frozenset({"v4", "cpu", "anything"})


@pytest.mark.parametrize(
    ("kinds", "had", "runner"),
    [
        (["v4"], {"tpu": TPU, "gce": GCE}, "tpu"),
        (["h100"], {"tpu": TPU, "gce": GCE}, "gce"),
        (["cpu", "memory"], {"tpu": TPU, "gce": GCE}, "gce"),
        (["v4", "cpu"], {"tpu": TPU, "gce": GCE, "local": LOCAL}, "local"),
        (["anything"], {"tpu": TPU, "local": LOCAL}, "local"),
        (["v4"], {"local": LOCAL, "tpu": TPU}, "local"),
        (["h100"], {"late": None, "gce": GCE}, "gce"),
        (["odd"], {"gce": GCE, "late": None}, "late"),
    ],
)
def test_the_first_runner_that_has_all_of_it(kinds: list[str], had: Offers, runner: str) -> None:
    assert runner_of(kinds, had) == runner


def test_who_wants_what_no_runner_has_together_goes_nowhere() -> None:
    with pytest.raises(RunnerError, match=r"none of the configured runners \(tpu, gce\) has h100 and v4"):
        runner_of(["v4", "h100"], {"tpu": TPU, "gce": GCE})


def test_a_kind_that_no_runner_has_is_in_no_pool() -> None:
    assert offered({"v4": 8, "h100": 16, "odd": 1}, {"tpu": TPU}) == {"v4": 8}
    assert offered({"v4": 8, "h100": 16, "odd": 1}, {"tpu": TPU, "gce": GCE}) == {"v4": 8, "h100": 16}
    assert offered({"v4": 8, "odd": 1}, {"tpu": TPU, "late": None}) == {"v4": 8, "odd": 1}


def test_a_runner_has_what_it_names_else_what_it_holds_and_of_one_that_has_not_spoken_nobody_knows() -> None:
    state = folded(
        CapacityChanged(runner="tpu", offers=["v4", "v5p"]),
        CapacityChanged(runner="local", resources={"cpu": 8}),
        CapacityChanged(runner="ray"),
        CapacityChanged(runner="gone", resources={"h100": 8}),
    )
    assert offers(state, ["tpu", "local", "ray", "late"]) == {
        "tpu": {"v4", "v5p"},
        "local": {"cpu"},
        "ray": None,
        "late": None,
    }


def two_runners() -> Town:
    fleet = HandRunner(name="tpu", holds={"v4": 8}), HandRunner(name="gce", holds={"h100": 8})
    return Town(("config.toml", 'runners = ["tpu", "gce"]'), more=fleet)


def test_each_job_goes_to_its_runner() -> None:
    town = two_runners()
    town.ticks(2)
    slice_, gpus = town.submits(resources={"v4": 8}), town.submits(resources={"h100": 8})
    town.ticks(3)
    assert [attempt.runner for job in (slice_, gpus) for attempt in town.job(job).tasks[0].attempts] == ["tpu", "gce"]
    assert {key.job for _, key in town.runners["tpu"].calls} == {slice_}
    assert {key.job for _, key in town.runners["gce"].calls} == {gpus}


def test_what_no_one_runner_has_together_is_rejected() -> None:
    town = two_runners()
    town.ticks(2)
    both = town.submits(resources={"v4": 4, "h100": 8})
    town.ticks(2)
    assert town.job(both).state is JobState.REJECTED
    assert "resources are of several runners" in town.job(both).reason


def test_what_is_no_slice_is_rejected_with_the_nearest_that_is() -> None:
    town = two_runners()
    town.ticks(2)
    odd, whole = town.submits(resources={"v4": 7}), town.submits(resources={"v4": 8})
    town.ticks(2)
    assert town.job(odd).state is JobState.REJECTED
    assert "resources: there is no tpu-v4-7; did you mean tpu-v4-8?" in town.job(odd).reason
    assert town.job(whole).state is JobState.PROVISIONING
    assert list(misshapen({"v4": 7}, {"local": LOCAL})) == []


def test_who_loses_its_runner_says_so_and_is_in_nobodys_way() -> None:
    tpu, gce = HandRunner(name="tpu", offers=["v4"]), HandRunner(name="gce", holds={"h100": 8, "cpu": 8})
    town = Town(("config.toml", 'runners = ["tpu", "local"]'), more=[tpu, HandRunner(name="local"), gce])
    town.ticks(2)
    large = town.submits(resources={"v4": 16})
    stray = town.submits(resources={"v4": 8, "cpu": 1})
    other = town.submits(resources={"v4": 8})
    town.ticks(2)
    town.bucket.inner.write("config.toml", b'runners = ["tpu", "gce"]')
    town.ticks(20)
    town.cancels(large)
    town.ticks(20)
    assert (town.job(stray).state, town.job(other).state) == (JobState.PENDING, JobState.PROVISIONING)
    said = town.bastion.troubles["seats"]
    assert f"{stray} would start, and cannot be placed; launch hold it" in said
    assert "none of the configured runners (tpu, gce) has cpu and v4" in said


def test_a_runner_that_does_not_answer_keeps_no_other_from_starting() -> None:
    town = two_runners()
    town.ticks(2)
    town.runners["gce"].blind = True
    town.ticks(40)
    slice_, gpus = town.submits(resources={"v4": 8}), town.submits(resources={"h100": 8})
    town.ticks(3)
    assert (town.job(slice_).state, town.job(gpus).state) == (JobState.PROVISIONING, JobState.PENDING)
    town.runners["gce"].blind = False
    town.ticks(70)
    assert town.job(gpus).state is JobState.PROVISIONING


def test_gpus_that_no_machines_make_up_are_told_where_machines_are_googles() -> None:
    assert list(misshapen({"h100": 16}, {"tpu": TPU, "gce": GCE})) == []
    assert ["did you mean gpu-h100-4?" in said for said in misshapen({"h100": 3}, {"tpu": TPU, "gce": GCE})] == [True]
    assert list(misshapen({"h100": 3}, {"local": None})) == []
