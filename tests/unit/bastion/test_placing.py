"""A job goes to the first runner that has all it wants; what no runner has is in no pool."""

from __future__ import annotations

import pytest

from bastion.errors import RunnerError
from bastion.placing import misshapen, offered, runner_of
from bastion.state import JobState
from tests.unit.bastion.doors import HandRunner
from tests.unit.bastion.town import Town


@pytest.mark.parametrize(
    ("kinds", "runners", "runner"),
    [
        (["v4"], ["tpu", "gce"], "tpu"),
        (["h100"], ["tpu", "gce"], "gce"),
        (["cpu", "memory"], ["tpu", "gce"], "gce"),
        (["v4", "cpu"], ["tpu", "gce", "local"], "local"),
        (["anything"], ["local"], "local"),
    ],
)
def test_the_first_runner_that_has_all_of_it(kinds: list[str], runners: list[str], runner: str) -> None:
    assert runner_of(kinds, runners) == runner


def test_who_wants_what_no_runner_has_together_goes_nowhere() -> None:
    with pytest.raises(RunnerError, match=r"none of the configured runners \(tpu, gce\) has h100 and v4"):
        runner_of(["v4", "h100"], ["tpu", "gce"])


def test_a_kind_that_no_runner_has_is_in_no_pool() -> None:
    assert offered({"v4": 8, "h100": 16, "odd": 1}, ["tpu"]) == {"v4": 8}
    assert offered({"v4": 8, "h100": 16, "odd": 1}, ["tpu", "gce"]) == {"v4": 8, "h100": 16}
    assert offered({"v4": 8, "odd": 1}, ["tpu", "local"]) == {"v4": 8, "odd": 1}


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
    assert list(misshapen({"v4": 7}, ["local"])) == []


def test_who_loses_its_runner_says_so_and_is_in_nobodys_way() -> None:
    town = Town(("config.toml", 'runners = ["tpu", "local"]'), more=[HandRunner(name="tpu"), HandRunner(name="local")])
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
    assert list(misshapen({"h100": 16}, ["tpu", "gce"])) == []
    assert ["did you mean gpu-h100-4?" in said for said in misshapen({"h100": 3}, ["tpu", "gce"])] == [True]
    assert list(misshapen({"h100": 3}, ["local"])) == []
