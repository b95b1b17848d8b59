"""A job goes to the first runner that has all it wants; what no runner has is in no pool."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from bastion.model.errors import RunnerError
from bastion.model.job.instances import KINDS
from bastion.model.settings.config import Config
from bastion.model.state.state import JobState
from bastion.model.stored.events import CapacityChanged
from bastion.quota.quota import Quota
from bastion.quota.resources import Resources
from bastion.quota.tiers import Capacity
from bastion.schedule.capacity import capacity_of
from bastion.schedule.runner_choice import RunnerChoice, places
from tests.support.doors import HandRunner, folded
from tests.support.town import Town

TPU, GCE = frozenset(KINDS["tpu"]), frozenset(KINDS["gpu"]) | {"cpu", "memory"}
LOCAL = frozenset({"v4", "cpu", "anything"})
Offers = Mapping[str, frozenset[str] | None]


def of(offers: Offers, placed: Mapping[str, str] | None = None, **capacity: Resources | None) -> RunnerChoice:
    return RunnerChoice(
        offers=offers, capacity=capacity, placed={key: (runner,) for key, runner in (placed or {}).items()}
    )


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
    assert of(had).runner_of(dict.fromkeys(kinds, 8), 0) == runner


def test_who_wants_what_no_runner_has_together_goes_nowhere() -> None:
    with pytest.raises(RunnerError, match=r"none of the configured runners \(tpu, gce\) has h100 and v4"):
        of({"tpu": TPU, "gce": GCE}).runner_of({"v4": 8, "h100": 8}, 0)


@pytest.mark.parametrize(("tier", "runner"), [(0, "slurm"), (1, "gce"), (7, "gce")])
def test_the_settings_name_a_runner_for_each_tier_and_the_last_one_for_all_further(tier: int, runner: str) -> None:
    there = RunnerChoice(offers={"gce": GCE, "slurm": SLURM}, capacity={}, placed={"h100": ("slurm", "gce")})
    assert there.runner_of({"h100": 8, "cpu": 4}, tier) == runner


def test_a_side_begins_where_any_kind_changes_its_runner() -> None:
    rows = {"h100": ("a", "a", "b"), "v4": ("a",), "gpu-l4-1": ("a", "b", "b", "a")}
    assert RunnerChoice(offers={}, capacity={}, placed=rows).partition_starts == (1, 2, 3)


SLURM = frozenset({"h100", "l4", "cpu", "memory"})


@pytest.mark.parametrize(
    ("wanted", "runner"),
    [
        ({"h100": 8}, "gce"),
        ({"h100": 64}, "slurm"),
        ({"h100": 16, "cpu": 4}, "slurm"),
        ({"h100": 8, "cpu": 4}, "gce"),
        ({"l4": 1}, "slurm"),
        ({"cpu": 4}, "slurm"),
        ({}, "slurm"),
    ],
)
def test_the_settings_say_which_runner_gives_a_kind_or_a_type(wanted: Resources, runner: str) -> None:
    there = of({"slurm": SLURM, "gce": GCE}, {"h100": "slurm", "gpu-h100-8": "gce", "cpu": "slurm"})
    assert there.runner_of(wanted, 0) == runner


def test_what_the_settings_send_apart_or_to_who_has_it_not_goes_nowhere() -> None:
    there = of({"slurm": SLURM, "gce": GCE}, {"h100": "slurm", "l4": "gce"})
    [apart] = there.faults({"h100": 8, "l4": 1}, 0)
    assert "placing of config.toml sends h100 to slurm and l4 to gce" in apart
    with pytest.raises(RunnerError, match=r"the runner that placing of config.toml names \(tpu\) has h100"):
        of({"tpu": TPU, "gce": GCE}, {"h100": "tpu"}).runner_of({"h100": 8}, 0)


def test_a_kind_that_no_runner_has_is_in_no_pool() -> None:
    assert of({"tpu": TPU}).offered({"v4": 8, "h100": 16, "odd": 1}, 0) == {"v4": 8}
    assert of({"tpu": TPU, "gce": GCE}).offered({"v4": 8, "h100": 16, "odd": 1}, 0) == {"v4": 8, "h100": 16}
    assert of({"tpu": TPU, "late": None}).offered({"v4": 8, "odd": 1}, 0) == {"v4": 8, "odd": 1}
    assert of({"tpu": TPU, "gce": GCE}, {"h100": "tpu"}).offered({"v4": 8, "h100": 16}, 0) == {"v4": 8}


def test_a_kind_is_bounded_by_what_those_hold_who_give_it() -> None:
    had, held = {"slurm": SLURM, "gce": GCE}, {"h100": 64, "l4": 4, "cpu": 512}
    wished = {"h100": 500, "l4": 500, "t4": 500}
    assert of(had, slurm=held, gce=None).bounds(wished, 0, {}) == {"h100": 64, "l4": 4, "t4": 500}
    placed = {"h100": "slurm", "gpu-l4-1": "gce"}
    assert of(had, placed, slurm=held, gce=None).bounds(wished, 0, {}) == {"h100": 64, "l4": 500, "t4": 500}
    assert of(had, slurm=held, gce={"h100": 8}).bounds(wished, 0, {}) == {"h100": 64, "l4": 4, "cpu": 512, "t4": 0}
    assert of(had, gce=None).bounds(wished, 0, {}) is None
    late: Offers = {"slurm": SLURM, "late": None}
    assert of(late, slurm=held).bounds(wished, 0, {}) == held | {"t4": 500}


def sided() -> RunnerChoice:
    """Own machines first, then spot; that of Google has no bound."""
    held = {"near": {"h100": 16, "cpu": 64, "memory": 8}, "gce": None, "tpu": {"v4": 40}}
    offers: Offers = {"gce": GCE, "near": frozenset(held["near"] or ()), "tpu": TPU}
    return RunnerChoice(offers=offers, capacity=held, placed={"h100": ["near", "gce"]})


def test_each_side_is_bounded_by_its_own_runner_and_who_gives_on_both_gives_to_the_better_one_first() -> None:
    tiers = {"h100": 32, "v4": 32, "cpu": 100}, {"h100": 64, "v4": 32, "l4": 8, "cpu": 100}
    found = capacity_of(Quota(tiers=tiers), sided(), frozenset())
    assert found.partition_starts == (1,)
    first, second = ({kind: n for kind, n in tier.items() if n} for tier in found.tiers)
    assert first == {"h100": 16, "v4": 32, "cpu": 64, "memory": 8}
    assert second == {"h100": 64, "v4": 8, "l4": 8, "cpu": 100}


def test_a_table_makes_the_tiers_that_the_quota_file_has_not() -> None:
    both = {"near": {"h100": 16}, "far": {"h100": 8}}
    there = RunnerChoice(
        offers={name: frozenset(held) for name, held in both.items()}, capacity=both, placed={"h100": ["near", "far"]}
    )
    assert capacity_of(Quota.open(), there, frozenset()) == Capacity(({"h100": 16}, {"h100": 8}), (1,))
    assert capacity_of(Quota(tiers=({"h100": 99},)), there, frozenset()) == Capacity(({"h100": 16}, {}), (1,))


def test_what_a_blind_runner_gives_alone_is_shut_on_its_side_where_another_side_has_such() -> None:
    quota = Quota(tiers=({"h100": 16, "v4": 8}, {"h100": 64}))
    assert capacity_of(quota, sided(), frozenset({"near", "tpu"})).shut == ({"h100"}, frozenset())
    assert capacity_of(quota, sided(), frozenset({"gce"})).shut == (frozenset(), {"h100"})
    assert capacity_of(quota, sided(), frozenset({"tpu"})).shut == (frozenset(), frozenset())
    assert capacity_of(quota, sided(), frozenset({"near", "gce"})).shut == (frozenset(), frozenset())


def test_a_shape_is_asked_of_the_runner_of_each_tier_that_a_job_takes() -> None:
    odd = {"h100": 3}
    assert list(sided().faults(odd, 0)) == []
    [said] = sided().faults(odd, 1)
    assert "did you mean gpu-h100-4? in tier 1; --max_tier=0 leaves it out" in said


def test_what_comes_with_other_kinds_is_of_the_runner_of_the_tier() -> None:
    assert [sided().runner_of({"cpu": 4}, tier) for tier in (0, 1)] == ["near", "gce"]
    assert [sided().suppliers("cpu", tier) for tier in (0, 1)] == [("near",), ("gce",)]


def test_a_runner_has_what_it_names_else_what_it_holds_and_of_one_that_has_not_spoken_nobody_knows() -> None:
    state = folded(
        CapacityChanged(runner="tpu", offers=["v4", "v5p"]),
        CapacityChanged(runner="local", resources={"cpu": 8}),
        CapacityChanged(runner="ray"),
        CapacityChanged(runner="gone", resources={"h100": 8}),
    )
    there = places(state, Config(runners=["tpu", "local", "ray", "late"]))
    assert there.offers == {"tpu": {"v4", "v5p"}, "local": {"cpu"}, "ray": None, "late": None}
    assert there.capacity == {"tpu": None, "local": {"cpu": 8}, "ray": None}


def two_runners() -> Town:
    fleet = HandRunner(name="tpu", holds={"v4": 8}), HandRunner(name="gce", holds={"h100": 8})
    return Town(("config.toml", 'runners = ["tpu", "gce"]'), more=fleet)


def test_a_kind_that_two_have_goes_where_the_settings_send_it_and_no_further_than_that_holds() -> None:
    fleet = HandRunner(name="near", holds={"h100": 8}), HandRunner(name="far", holds=None, offers=["h100"])
    settings = 'runners = ["far", "near"]\nplacing = {h100 = "near"}\n'
    town = Town(("config.toml", settings), more=fleet)
    town.ticks(2)
    first, second = (town.submits(resources={"h100": 8}) for _ in range(2))
    town.ticks(3)
    assert town.job(first).tasks[0].attempts[0].runner == "near"
    assert (town.job(second).state, town.runners["far"].calls) == (JobState.PENDING, [])


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
    assert list(of({"local": LOCAL}).faults({"v4": 7}, 0)) == []


def test_who_loses_its_runner_says_so_and_is_in_nobodys_way() -> None:
    tpu, gce = HandRunner(name="tpu", holds={"v4": 16}), HandRunner(name="gce", holds={"h100": 8, "cpu": 8})
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
    said = town.bastion.problems["seats"]
    assert f"{stray} may start but cannot be placed; hold it with launch hold" in said
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
    assert list(of({"tpu": TPU, "gce": GCE}).faults({"h100": 16}, 0)) == []
    assert ["did you mean gpu-h100-4?" in said for said in of({"tpu": TPU, "gce": GCE}).faults({"h100": 3}, 0)] == [
        True
    ]
    assert list(of({"local": None}).faults({"h100": 3}, 0)) == []
