"""Ten thousand jobs in Slurm's queue: one question, an answer that is understood as a stream, and a controller that is spared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from bastion.model.interfaces import AttemptKey, CommandResult
from bastion.platform.system import RandomIds
from bastion.runners.slurm.parse import _FIELDS
from bastion.runners.slurm.render import SlurmJobName
from bastion.runners.slurm.runner import SlurmRunner
from bastion.runners.slurm.settings import SlurmSettings
from bastion.testing.fleets import sealing

JOBS = 10_000
SEAL = sealing()


def row(number: int) -> str:
    """What squeue prints of the job of this number: every other one is another bastion's."""
    key, scope = AttemptKey("train-12345678", number, 0), f"team-{number % 2}"
    name = SlurmJobName(scope, key, 7, SEAL.nonce(scope, key, 7))
    words = [str(number), "PENDING", "main", "2", "4", "gpu:2", "0", "", "(Priority)", "ada", str(name)]
    return "".join(f"{word:<{width}}|" for word, width in zip(words, _FIELDS.values(), strict=True)) + "\n"


@dataclass
class Busy:
    """A clock, and a controller that takes so many seconds for an answer."""

    takes_s: float
    now: float = 0.0
    asked: int = 0

    def monotonic(self) -> float:
        return self.now

    def run(self, argv: Sequence[str], *, limit_s: float, stdin: str = "") -> CommandResult:
        self.now += self.takes_s
        self.asked += 1
        return CommandResult(0, "".join(map(row, range(JOBS))), "")


@pytest.mark.parametrize(("takes_s", "pace_s"), [(0.01, 0.5), (0.4, 1.2), (20.0, 30.0)])
def test_all_are_known_by_one_question_and_a_slow_answer_is_asked_for_less_often(takes_s: float, pace_s: float) -> None:
    busy = Busy(takes_s)
    runner = SlurmRunner(
        settings=SlurmSettings(),
        scope="team-1",
        bucket_url="file:///b",
        python="/p",
        shell=busy,
        ids=RandomIds(),
        seal=sealing(),
        clock=busy,
    )  # type: ignore[arg-type]
    machines = runner.list()
    assert len(machines) == JOBS
    assert {machine.key.task % 2 for machine in machines} == {1}
    assert len(runner.waiting()) == JOBS / 2
    assert (busy.asked, runner.pace_s) == (1, pytest.approx(pace_s))
