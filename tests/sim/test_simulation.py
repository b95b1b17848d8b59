"""The real bastion, reconciler, worker and client in 2,000 simulated worlds: whatever befalls them, no law is broken.

A failure names its seed; `make simulate SEED=N STEPS=M` tells its story, with the smallest storm that breaks the law.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.house.source import ROOT
from tests.simulation.fleet_laws import FleetLaws
from tests.simulation.main import main
from tests.simulation.many import batch
from tests.simulation.parts.broken import Broken
from tests.simulation.parts.plan import ACTS, ALONE, RATES, draw
from tests.simulation.story import replay
from tests.simulation.world import World, run

SEEDS, STEPS, BATCH = 2_000, 80, 50
OFTEN = 400
"""The seeds of `make test`; `make acceptance` runs the others."""

LONG, LONG_STEPS = 24, 2_000
FAULTS = [fault for faults in RATES.values() for fault in faults]
OPEN_STATES = ("PENDING", "PROVISIONING", "RUNNING", "PREEMPTING", "CANCELLING")


@pytest.mark.parametrize("first", range(0, OFTEN, BATCH))
def test_no_law_is_broken(first: int) -> None:
    assert batch(range(first, first + BATCH), STEPS).broken == []


@pytest.mark.acceptance
@pytest.mark.parametrize("first", range(OFTEN, SEEDS, BATCH))
def test_no_law_is_broken_in_many_more(first: int) -> None:
    assert batch(range(first, first + BATCH), STEPS).broken == []


@pytest.mark.parametrize("first", range(SEEDS, SEEDS + LONG, 4))
def test_no_law_is_broken_in_a_long_storm(first: int) -> None:
    assert batch(range(first, first + 4), LONG_STEPS).broken == []


def test_one_seed_is_one_run() -> None:
    assert _digest(7) == _digest(7)
    assert _digest(7) != _digest(8)


def test_it_is_the_same_run_in_another_process() -> None:
    """Seed 101 drops several requests in one turn: sets have another order in each process."""
    seeds = (7, 101)
    code = f"from tests.simulation.world import run; print(*[run(seed, 300).trace.digest() for seed in {seeds}])"
    for hashseed in ("1", "2"):
        environ = {**os.environ, "PYTHONHASHSEED": hashseed}
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environ, capture_output=True, text=True)
        assert done.stdout.split() == [_digest(seed) for seed in seeds], done.stderr


def test_a_step_is_a_call_a_fault_or_a_move_of_the_clock() -> None:
    world = World(draw(3, 200))
    counted = []
    for name in ("answered", "moved", "fault"):
        real = getattr(world.trace, name)
        setattr(world.trace, name, lambda *told, real=real: (counted.append(told), real(*told)))
    world.run()
    assert world.trace.steps == len(counted)


def test_every_class_of_faults_is_on_in_about_half_of_the_seeds() -> None:
    drawn = [draw(seed, STEPS) for seed in range(500)]
    for fault in FAULTS:
        assert 200 < sum(fault in plan.rates for plan in drawn) < 300, fault
    assert {act.kind for plan in drawn for act in plan.acts} == {*ACTS, *ALONE}


def test_the_worlds_are_as_bad_as_they_claim() -> None:
    """Each fault strikes, and meets jobs that wait, form and run, and but for the rarest such as make way or are cancelled."""
    whole = batch(range(5_000, 5_100), 800)
    assert whole.broken == []
    cells = {(fault, state) for fault in (*FAULTS, *ACTS) for state in OPEN_STATES}
    missed = {(fault, state) for fault, state in cells if not whole.seen[f"{fault} x {state}"]}
    assert all(whole.seen[fault] for fault in (*FAULTS, *ACTS, *ALONE))
    assert len(missed) <= 16, missed
    assert sum(state in ("PENDING", "PROVISIONING", "RUNNING") for _, state in missed) <= 2, missed
    assert {"deposed", "too old", "upgrade", "keeper", "unheeded", "by hand"} <= whole.seen.keys()
    assert {"look", "cancel", "hold", "top", "update", "renew"} <= whole.seen.keys()
    assert {"after", "begin", "deadline", "process"} <= whole.seen.keys()


def test_in_most_worlds_a_listing_of_machines_and_an_append_overlap() -> None:
    """What a listing leads to must not come before what is being appended: a world where they never meet cannot show that."""
    met = [run(seed, STEPS).trace.seen["overlap"] for seed in range(30)]
    assert sum(map(bool, met)) > len(met) / 2, met


def test_a_storm_is_shrunk_to_what_breaks_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_crash(self: FleetLaws) -> None:
        if self.scene.trace.seen["crash"]:
            raise Broken(f"bastion {len(self.scene.lives)} crashed at {self.scene.kernel.now}")

    monkeypatch.setattr(FleetLaws, "check", no_crash)
    seed = next(seed for seed in range(1_000) if sum(act.kind == "crash" for act in draw(seed, 80).acts) > 3)
    told: list[str] = []
    assert not replay(draw(seed, 80), told.append)
    assert "BROKEN: bastion" in told[-1]
    (shrunk,) = [line for line in told if line.startswith("shrunk to: ")]
    assert "faults: none" in shrunk
    assert shrunk.count("crash@") == shrunk.count("@") == 1


def test_the_summary_comes_last_and_names_what_broke(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seeds=2", "--from=3", "--steps=40"]) == 0
    assert re.fullmatch(
        r"2 seeds x 40 steps of storm: \d+ steps in \d+ s, \d+ steps per second, 0 violations",
        capsys.readouterr().out.splitlines()[-1],
    )
    with pytest.raises(SystemExit):
        main(["--steps=0"])


def _digest(seed: int) -> str:
    return run(seed, 300).trace.digest()
