"""The environment of a process: complete, from few sources, and honest about who it is."""

from __future__ import annotations

import pytest

from bastion.model.interfaces import AttemptKey
from bastion.model.job.command_rules import IDENTITY
from bastion.model.job.spec import BundleRef
from bastion.model.stored.records import Order, Peer, Peers
from bastion.runners.worker.environment import ProcessPaths, environment
from bastion.runners.worker.interfaces import WorkerIdentity

PLACES = ProcessPaths(tmp="/w/tmp", progress="/w/progress", peers="/w/world", output="/out", checkpoint="gs://b/c")
WORLD = Peers(members=[Peer(address=f"10.0.0.{n}", port=4000 + n) for n in range(4)])


def order(**changes: object) -> Order:
    fields: dict[str, object] = {
        "job": "train-12345678",
        "name": "train",
        "user": "ada",
        "project": "ml",
        "task": 3,
        "count": 8,
        "attempt": 2,
        "tier": 1,
        "command": ["true"],
        "env": {},
        "resources": {"v4": 8},
        "replicas": 2,
        "workers": 4,
        "bundle": BundleRef(type="tar", key="bundles/x", digest="d" * 64),
        "output_dir": "",
        "checkpoint_dir": "",
        "grace_s": 30.0,
        "time_limit_s": None,
        "max_tries": 4,
        "restart_reason": "preempted",
    }
    return Order(**(fields | changes))  # type: ignore[arg-type]


def seen(worker: int = 2, devices: tuple[str, ...] = (), **changes: object) -> dict[str, str]:
    post = WorkerIdentity(
        key=AttemptKey("train-12345678", 3, 2), worker=worker, machine="m-1", address="x", devices=devices
    )
    asked = order(**changes)
    return environment(asked, post, WORLD, {"PATH": "/bin", "HOME": "/root"}, PLACES, asked.env)


def test_it_says_which_job_this_is() -> None:
    expected = {
        "BASTION_JOB": "train-12345678",
        "BASTION_JOB_NAME": "train",
        "BASTION_TASK": "3",
        "BASTION_TASK_COUNT": "8",
        "BASTION_ATTEMPT": "2",
        "BASTION_RESTART_REASON": "preempted",
        "BASTION_USER": "ada",
        "BASTION_PROJECT": "ml",
        "BASTION_TIER": "1",
        "BASTION_BUNDLE": "d" * 64,
        "BASTION_OUTPUT_DIR": "/out",
        "BASTION_CHECKPOINT_DIR": "gs://b/c",
        "BASTION_PROGRESS_FILE": "/w/progress",
        "BASTION_WORLD_FILE": "/w/world",
        "BASTION_MACHINE": "m-1",
        "TORCHELASTIC_RUN_ID": "train-12345678",
        "TORCHELASTIC_RESTART_COUNT": "2",
        "TORCHELASTIC_MAX_RESTARTS": "3",
    }
    assert expected.items() <= seen().items()


def test_it_says_which_of_the_gang_this_is() -> None:
    expected = {
        "RANK": "2",
        "NODE_RANK": "2",
        "NODE_NUM": "4",
        "NODE_IP": "x",
        "WORLD_SIZE": "4",
        "NNODES": "4",
        "LOCAL_RANK": "0",
        "MASTER_ADDR": "10.0.0.0",
        "MASTER_PORT": "4000",
        "JAX_COORDINATOR_ADDRESS": "10.0.0.0:4000",
        "JAX_PROCESS_ID": "2",
        "JAX_NUM_PROCESSES": "4",
        "BASTION_WORKER_INDEX": "2",
        "BASTION_REPLICA_INDEX": "1",
        "BASTION_REPLICA_COUNT": "2",
        "BASTION_PROCESS_INDEX": "0",
        "BASTION_PROCESS_COUNT": "2",
        "BASTION_ROLE": "default",
    }
    assert expected.items() <= seen().items()


@pytest.mark.parametrize(("worker", "replica", "process"), [(0, "0", "0"), (1, "0", "1"), (2, "1", "0"), (3, "1", "1")])
def test_workers_of_one_slice_have_one_replica_index_and_each_a_number_in_it(
    worker: int, replica: str, process: str
) -> None:
    assert seen(worker)["BASTION_REPLICA_INDEX"] == replica
    assert seen(worker)["BASTION_PROCESS_INDEX"] == process


def test_slices_are_told_as_libtpu_and_jax_read_it() -> None:
    assert {
        "TPU_WORKER_ID": "1",
        "TPU_WORKER_HOSTNAMES": "10.0.0.2,10.0.0.3",
        "MEGASCALE_COORDINATOR_ADDRESS": "10.0.0.0:8081",
        "MEGASCALE_PORT": "8081",
        "MEGASCALE_NUM_SLICES": "2",
        "MEGASCALE_SLICE_ID": "1",
        "JAX_PROCESS_ID": "3",
    }.items() <= seen(3).items()
    alone = seen(3, resources={"v4": 32}, replicas=1)
    assert alone["TPU_WORKER_HOSTNAMES"] == "10.0.0.0,10.0.0.1,10.0.0.2,10.0.0.3"
    assert not any(name.startswith("MEGASCALE") for name in alone)
    assert not any(name.startswith(("TPU_", "MEGASCALE")) for name in seen(3, resources={"h100": 8}))
    assert seen(3, env={"TPU_WORKER_ID": "7"})["TPU_WORKER_ID"] == "7"


def test_a_process_sees_its_devices_and_no_others() -> None:
    assert seen()["CUDA_VISIBLE_DEVICES"] == ""
    assert seen(devices=("4", "5"))["CUDA_VISIBLE_DEVICES"] == "4,5"
    assert seen()["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"


def test_the_user_wins_over_defaults() -> None:
    got = seen(env={"NCCL_DEBUG": "INFO", "PATH": "/mine", "TMPDIR": "/big", "PYTHONUNBUFFERED": ""})
    assert (got["NCCL_DEBUG"], got["PATH"], got["TMPDIR"], got["PYTHONUNBUFFERED"]) == ("INFO", "/mine", "/big", "")


def test_the_user_does_not_win_over_identity() -> None:
    lies = dict.fromkeys((*IDENTITY, "BASTION_JOB", "BASTION_MACHINE"), "a lie")
    assert "a lie" not in seen(env=lies).values()


def test_the_last_step_is_told_when_there_is_one() -> None:
    assert "BASTION_LAST_STEP" not in seen()
    assert seen(last_step=0)["BASTION_LAST_STEP"] == "0"


def test_nothing_else_is_there() -> None:
    ours = (
        "BASTION_",
        "TORCHELASTIC_",
        "JAX_",
        "GROUP_",
        "ROLE_",
        "LOCAL_",
        "MASTER_",
        "NCCL_",
        "TORCH_NCCL_",
        "CUDA_",
        "NODE_",
        "TPU_",
        "MEGASCALE_",
    )
    rest = {name for name in seen() if not name.startswith(ours)}
    assert rest == {"PATH", "HOME", "TMPDIR", "PYTHONUNBUFFERED", "RANK", "WORLD_SIZE", "NNODES"}
