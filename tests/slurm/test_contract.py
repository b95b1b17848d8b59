"""The runner of Slurm keeps the runners' contract, on a real Slurm."""

from __future__ import annotations

from bastion.testing.runner_contract import RunnerContract


class TestSlurmRunner(RunnerContract):
    devices = {"gpu": 2}
