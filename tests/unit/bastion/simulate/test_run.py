"""Small worlds whose numbers can be computed by hand: the real policies, the real state machine, a virtual clock."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import msgspec
import pytest

from bastion.model.errors import BastionError
from bastion.model.settings.config import Config
from bastion.quota.quota import Quota
from bastion.quota.quota_file import parse
from bastion.simulate import trace
from bastion.simulate.simulated_run import RunSettings, SimulatedRun, everybody, simulate
from bastion.simulate.simulation_report import row
from bastion.simulate.workload import WorkPace

HEADS = "submit_s,duration_s,gpus,project,user,priority"
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


def halves(total: int = 8) -> Quota:
    """Two projects with half of everything each."""
    text = f'[toml-schema]\nversion = "1"\n[total_resources]\ngpu = {total}\n'
    return everybody(parse(text + "".join(f"[project_resources.{name}]\ngpu = 0.5\n" for name in ("nlp", "vision"))))


def scene(policy: str = "axlearn", quota: Quota | None = None, **pace: timedelta) -> RunSettings:
    how = WorkPace(**{"checkpoint": 10 * MINUTE, **pace})
    return RunSettings(quota=quota or halves(), config=Config(policy=policy), pace=how, kind="gpu", big=8)


def run(where: RunSettings, *rows: str) -> SimulatedRun:
    return simulate(where, trace.read([HEADS, *rows], "gpu"))


BORROWER = "0,7200,8,nlp,,"
OWNER = "1000,3600,4,vision,,"


def test_a_borrower_makes_way_loses_what_it_did_not_save_and_does_it_again() -> None:
    numbers = row(run(scene(), BORROWER, OWNER).report, "gpu")

    # nlp works 1000 s, of which 600 are saved, waits for an hour, and works the other 6600: from 4600 to 11200.
    assert numbers["utilisation"] == pytest.approx((8 * 1000 + 4 * 3600 + 8 * 6600) / (8 * 11200), abs=1e-6)
    assert numbers["lost_gpu_hours"] == pytest.approx(8 * 400 / 3600, abs=1e-4)
    assert (numbers["jobs"], numbers["preemptions"], numbers["worst_job_preemptions"]) == (2, 1, 1)
    assert numbers["wait_h"] == {"mean": 0.5, "p50": 0.0, "p95": 1.0, "p99": 1.0}
    assert numbers["by_size"] == {"4": {"p95": 0.0}, "8": {"p95": 1.0}}
    assert numbers["wait_h_by_size"] == {
        "4": {"p50": 0.0, "p95": 0.0, "max": 0.0},
        "8": {"p50": 1.0, "p95": 1.0, "max": 1.0},
    }
    assert numbers["big_gang_wait_h"] == {"p50": 1.0, "max": 1.0}
    assert (numbers["share_violation_gpu_hours"], numbers["idle_though_fits"]) == (0.0, 0.0)
    assert numbers["decisions"] == 5  # it starts; it is stopped; the other starts; it starts again; all is over


def test_a_restart_takes_time_before_work_goes_on_and_is_lost() -> None:
    (done, plain) = (run(scene(restart=give), BORROWER, OWNER) for give in (5 * MINUTE, 0 * MINUTE))

    assert done.until - plain.until == 5 * MINUTE
    lost = [one.report.kinds["gpu"].lost_hours for one in (done, plain)]
    assert lost[0] - lost[1] == pytest.approx(8 * 300 / 3600)


def test_who_is_stopped_before_it_works_again_loses_only_the_restart() -> None:
    again = "4700,60,4,vision,,"
    done = run(scene(restart=5 * MINUTE), BORROWER, OWNER, again).report

    # Started again at 4600, stopped at 4700 in the midst of its restart, and once more from 4760 on.
    assert done.stops == 2
    assert done.kinds["gpu"].lost_hours == pytest.approx(8 * (400 + 100 + 300) / 3600)


def test_a_project_below_its_share_that_waits_for_borrowers_is_violated() -> None:
    done = run(scene("default"), BORROWER, OWNER).report

    assert done.kinds["gpu"].violated_hours == pytest.approx(4 * 90 / 3600)  # until the borrower is stopped for it
    assert done.projects["vision"].waits.max == pytest.approx(90 / 3600)
    assert done.projects["nlp"].stops == 1


def test_waits_are_summed_over_all_stops() -> None:
    done = run(scene(), BORROWER, OWNER, "5000,600,4,vision,,").report

    assert done.stops == 2
    assert done.projects["nlp"].waits.max == pytest.approx((3600 + 600) / 3600)


def test_waits_are_told_by_size_in_the_order_of_sizes() -> None:
    one_after_the_other = ["0,3600,16,nlp,,"] * 30
    numbers = row(run(scene(quota=halves(16)), *one_after_the_other, "200000,60,8,nlp,,").report, "gpu")

    assert list(numbers["wait_h_by_size"].items()) == [
        ("8", {"p50": 0.0, "p95": 0.0, "max": 0.0}),
        ("16", {"p50": 14.0, "p95": 28.0, "max": 29.0}),
    ]


def test_the_window_cuts_what_was_in_use_and_no_waits() -> None:
    done = run(replace(scene(), until=timedelta(seconds=2000)), BORROWER, OWNER).report

    assert done.kinds["gpu"].utilisation == pytest.approx((8 * 1000 + 4 * 1000) / (8 * 2000))
    assert (done.waits.max, done.jobs) == (1.0, 2)


def test_an_end_before_the_window_ends_leaves_the_rest_idle() -> None:
    done = run(replace(scene(), until=4 * HOUR), "0,3600,8,nlp,,").report

    assert done.kinds["gpu"].utilisation == pytest.approx(0.25)


def test_nothing_is_dropped_without_a_word() -> None:
    late = replace(scene(), until=HOUR)
    done = run(late, BORROWER, "0,60,9,nlp,,", "0,60,1,robots,,", "3600,60,1,nlp,,", "3599,60,1,nlp,,").report

    assert (done.jobs, done.unfinished) == (2, 0)
    assert {why: number for why, number in done.left_out.items() if number} == {
        "larger_than_pool": 1, "unknown_project": 1, "after_the_window": 1,
    }  # fmt: skip


def test_users_of_a_journal_are_members_or_do_not_come() -> None:
    members = replace(halves(), members={"nlp": ("alice",)})
    done = run(scene(quota=members), "0,60,1,nlp,alice,", "0,60,1,nlp,bob,").report

    assert (done.jobs, done.left_out["not_a_member"]) == (1, 1)


def test_a_class_that_was_not_granted_does_not_come() -> None:
    (job,) = trace.read([HEADS, "0,60,1,nlp,,"], "gpu")
    urgent = replace(job, spec=msgspec.structs.replace(job.spec, job_class="urgent"))

    assert simulate(scene(), [job, urgent]).report.left_out["class_not_granted"] == 1
    granted = replace(halves(), classes={"nlp": ("urgent",)})
    assert simulate(scene(quota=granted), [urgent]).report.jobs == 1


def test_if_no_job_can_be_run_that_is_an_error() -> None:
    with pytest.raises(BastionError, match="no job can be run: 1 ask for more than the fleet has"):
        run(scene(), "0,60,9,nlp,,")


def test_capacity_bounds_what_the_quota_file_says() -> None:
    half = replace(scene(), capacity={"gpu": 4})
    done = run(half, "0,60,4,nlp,,", "0,60,8,nlp,,").report

    assert done.kinds["gpu"].utilisation == 1.0
    assert done.left_out["larger_than_pool"] == 1


def test_decisions_fall_on_ticks() -> None:
    done = run(scene(tick=30 * MINUTE), "0,60,1,nlp,,", "61,60,1,nlp,,").report

    assert (done.waits.p50, done.waits.max) == (0.0, pytest.approx((1800 - 61) / 3600))
    assert done.kinds["gpu"].idle_though_fits == 0.0  # no decision left anything idle
    assert done.decisions == 3  # at 0, after the submission, and after the end


def test_what_lasts_no_time_ends_at_once_and_all_jobs_leave_the_state() -> None:
    done = run(scene(), *(f"{at},0,8,nlp,,{1 + at % 5}" for at in range(50)))

    assert (done.report.jobs, done.report.waits.max, done.report.stops) == (50, 0.0, 0)


def test_the_same_comes_out_of_the_same() -> None:
    rows = [f"{at * 37},{at * 911 % 5000},{1 + at % 6},{('nlp', 'vision')[at % 2]},u{at % 3}," for at in range(200)]
    first, second = (run(replace(scene(policy), log=True), *rows) for policy in ("default", "default"))

    assert first.report == second.report
    assert first.levels == second.levels
    assert first.report.stops > 0


def test_levels_are_logged_only_when_they_are_asked_for() -> None:
    logged = run(replace(scene(), log=True), BORROWER, OWNER)

    assert [(level.project, level.units) for level in logged.levels] == [
        ("nlp", 8), ("nlp", 0), ("vision", 4), ("vision", 0), ("nlp", 8), ("nlp", 0),
    ]  # fmt: skip
    assert run(scene(), BORROWER, OWNER).levels == []
