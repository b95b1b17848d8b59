"""The runner of Slurm keeps the runners' contract, on a real Slurm."""

from __future__ import annotations

from tests.contract.runner_contract import RunnerContract


class TestSlurmRunner(RunnerContract):
    pass
