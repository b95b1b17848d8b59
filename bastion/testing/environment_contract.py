"""Tests of a process's environment: its identity, the addresses of the others, its devices."""

from __future__ import annotations

from bastion.quota.resources import Resources

from ..model.state.state import Cause
from .stage import ENVIRONMENT, KEY, OTHER, Fleet, Stage

PRESENT = frozenset(
    "PATH HOME USER LANG TMPDIR MASTER_ADDR NODE_IP "
    "BASTION_MACHINE BASTION_BUNDLE BASTION_PROGRESS_FILE BASTION_WORLD_FILE".split()
)
"""Variables that have another value on every machine."""


class EnvironmentContract:
    """Part of `RunnerContract`.

    `asks` are the smallest resources that a replica of one host has. `wide` are those of a replica of several hosts;
    empty: every replica is one host. `devices` are the GPUs, by kind, that the fleet can give to one worker; empty: it
    has none.
    """

    asks: Resources = {}
    wide: Resources = {}
    devices: Resources = {}

    def test_the_process_knows_who_it_is(self, fleet: Fleet) -> None:
        stage = Stage(fleet, self.asks)
        stage.start(ENVIRONMENT, OTHER, checkpoint_dir="gs://b/c", output_dir="gs://b/o", last_step=41, max_tries=3)
        stage.ended(OTHER)
        seen = stage.environment(OTHER)
        assert (
            seen.items()
            >= {
                "BASTION_JOB": "other-87654321",
                "BASTION_JOB_NAME": "other",
                "BASTION_USER": "ada",
                "BASTION_PROJECT": "ml",
                "BASTION_TASK": "4",
                "BASTION_ATTEMPT": "1",
                "BASTION_RESTART_REASON": "first",
                "BASTION_TIER": "0",
                "BASTION_ROLE": "default",
                "BASTION_CHECKPOINT_DIR": "gs://b/c",
                "BASTION_OUTPUT_DIR": "gs://b/o",
                "BASTION_LAST_STEP": "41",
                "RANK": "0",
                "WORLD_SIZE": "1",
                "CUDA_VISIBLE_DEVICES": "",
                "BASTION_DEVICES": "",
                "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
                "TORCHELASTIC_RUN_ID": "other-87654321",
                "TORCHELASTIC_RESTART_COUNT": "1",
                "TORCHELASTIC_MAX_RESTARTS": "2",
                "GREETING": "hello world",
            }.items()
        )
        assert seen.keys() >= PRESENT

    def test_users_variables_win_over_defaults_and_not_over_who_the_process_is(self, fleet: Fleet) -> None:
        stage = Stage(fleet, self.asks)
        own = {"NCCL_DEBUG": "INFO", "RANK": "7", "BASTION_JOB": "another", "JAX_PROCESS_ID": "7"}
        stage.start(ENVIRONMENT, env=own)
        stage.ended()
        seen = stage.environment()
        assert [seen[name] for name in own] == ["INFO", "0", KEY.job, "0"]

    def test_each_process_of_a_gang_knows_its_rank_and_where_the_first_one_is(self, fleet: Fleet) -> None:
        stage = Stage(fleet, self.asks)
        stage.start(ENVIRONMENT, workers=3)
        head = stage.meet(3)
        for n in range(3):
            ended = stage.ended(worker=n)
            assert (ended.cause, ended.message) == (Cause.OK, "")
            seen = stage.environment(worker=n)
            same = "RANK GROUP_RANK ROLE_RANK NODE_RANK JAX_PROCESS_ID BASTION_WORKER_INDEX".split()
            sizes = "WORLD_SIZE GROUP_WORLD_SIZE ROLE_WORLD_SIZE NNODES NODE_NUM JAX_NUM_PROCESSES".split()
            assert {name: seen.get(name) for name in same} == dict.fromkeys(same, str(n))
            assert {name: seen.get(name) for name in sizes} == dict.fromkeys(sizes, "3")
            assert (seen["LOCAL_RANK"], seen["LOCAL_WORLD_SIZE"]) == ("0", "1")
            assert (seen["MASTER_ADDR"], seen["MASTER_PORT"]) == (head.address, str(head.port))
            assert seen["JAX_COORDINATOR_ADDRESS"] == f"{head.address}:{head.port}"

    def test_each_host_of_a_replica_knows_its_number_in_it(self, fleet: Fleet) -> None:
        stage = Stage(fleet, self.wide or self.asks)
        workers = stage.runner.workers(stage.asks, 2)
        hosts = workers // 2
        assert (hosts > 1) == bool(self.wide)
        stage.start(ENVIRONMENT, workers=workers, replicas=2)
        stage.meet(workers)
        addresses = [claim.address for n in range(workers) if (claim := stage.claim(worker=n)) is not None]
        for n in range(workers):
            ended = stage.ended(worker=n)
            assert (ended.cause, ended.message) == (Cause.OK, "")
            seen = stage.environment(worker=n)
            place = {
                "REPLICA_INDEX": n // hosts, "REPLICA_COUNT": 2, "PROCESS_INDEX": n % hosts, "PROCESS_COUNT": hosts,
                "WORKER_INDEX": n, "WORKER_COUNT": workers,
            }  # fmt: skip
            assert {name: seen.get(f"BASTION_{name}") for name in place} == {k: str(v) for k, v in place.items()}
            assert (seen["RANK"], seen["WORLD_SIZE"], seen["NODE_NUM"]) == (str(n), str(workers), str(workers))
            assert (seen["NODE_IP"], seen["MASTER_ADDR"]) == (addresses[n], addresses[0])

    def test_each_worker_of_a_gang_sees_the_devices_that_it_asked_for(self, fleet: Fleet) -> None:
        stage = Stage(fleet, self.devices or self.asks)
        stage.start(ENVIRONMENT, workers=2)
        stage.meet(2)
        for n in range(2):
            ended = stage.ended(worker=n)
            assert (ended.cause, ended.message) == (Cause.OK, "")
            seen = stage.environment(worker=n)
            mine = [device for device in seen["CUDA_VISIBLE_DEVICES"].split(",") if device]
            assert len(set(mine)) == len(mine) == sum(self.devices.values())
            assert seen["BASTION_DEVICES"] == seen["CUDA_VISIBLE_DEVICES"]
