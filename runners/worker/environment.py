"""The environment variables of a process. Pure.

Later ones win: the account (PATH, HOME, USER, LANG), our defaults, the user's own, and the identity of the process.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bastion.model.job.instances import SLICES
from bastion.model.stored.records import Order, Peers

from .interfaces import WorkerIdentity

MEGASCALE_PORT = 8081
"""The port at which libtpu joins several slices, by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessPaths:
    """The paths and folders that one process gets in its variables.

    tmp: the temporary folder.
    progress: the file to which the job writes its progress.
    peers: the file with the addresses of the gang.
    output: the output folder, a path or a URL.
    checkpoint: the folder of checkpoints, a path or a URL.
    """

    tmp: str
    progress: str
    peers: str
    output: str
    checkpoint: str


def environment(
    order: Order,
    identity: WorkerIdentity,
    peers: Peers | None,
    base: Mapping[str, str],
    places: ProcessPaths,
    own: Mapping[str, str],
) -> dict[str, str]:
    """Return all variables of one process. `own` are the user's, with their secrets in place.

    Without peers, as in a setup, the addresses of the gang are absent.
    """
    return {
        **base,
        **_defaults(places),
        **(_slices(order, identity.worker, peers) if peers and SLICES.keys() & order.resources else {}),
        **own,
        **_job(order, identity),
        **_places(places),
        **_ranks(order, identity.worker),
        **(_addresses(peers) if peers else {}),
        "CUDA_VISIBLE_DEVICES": ",".join(identity.devices),
    }


def within(env: Mapping[str, str], venv: str) -> dict[str, str]:
    """Return the same variables, changed to use a virtual environment."""
    return {**env, "VIRTUAL_ENV": venv, "PATH": f"{venv}/bin:{env['PATH']}"}


def _defaults(places: ProcessPaths) -> dict[str, str]:
    return {
        "TMPDIR": places.tmp,
        "PYTHONUNBUFFERED": "1",
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "NCCL_DEBUG": "WARN",
        "TORCH_NCCL_ASYNC_ERROR_HANDLING": "1",
    }


def _job(order: Order, identity: WorkerIdentity) -> dict[str, str]:
    known = {} if order.last_step is None else {"BASTION_LAST_STEP": str(order.last_step)}
    return known | {
        "BASTION_JOB": order.job,
        "BASTION_JOB_NAME": order.name,
        "BASTION_USER": order.user,
        "BASTION_PROJECT": order.project,
        "BASTION_TASK": str(order.task),
        "BASTION_TASK_COUNT": str(order.count),
        "BASTION_ATTEMPT": str(order.attempt),
        "BASTION_RESTART_REASON": order.restart_reason,
        "BASTION_TIER": str(order.tier),
        "BASTION_BUNDLE": order.bundle.identity,
        "BASTION_MACHINE": identity.machine,
        "NODE_IP": identity.address,
        "BASTION_DEVICES": ",".join(identity.devices),
        "TORCHELASTIC_RUN_ID": order.job,
        "TORCHELASTIC_RESTART_COUNT": str(order.attempt),
        "TORCHELASTIC_MAX_RESTARTS": str(order.max_tries - 1),
    }


def _places(places: ProcessPaths) -> dict[str, str]:
    return {
        "BASTION_PROGRESS_FILE": places.progress,
        "BASTION_WORLD_FILE": places.peers,
        "BASTION_OUTPUT_DIR": places.output,
        "BASTION_CHECKPOINT_DIR": places.checkpoint,
    }


def _ranks(order: Order, worker: int) -> dict[str, str]:
    rank, size = str(worker), str(order.workers)
    replica, process = divmod(worker, order.workers // order.replicas)
    return {
        "BASTION_WORKER_INDEX": rank,
        "BASTION_WORKER_COUNT": size,
        "BASTION_REPLICA_INDEX": str(replica),
        "BASTION_REPLICA_COUNT": str(order.replicas),
        "BASTION_PROCESS_INDEX": str(process),
        "BASTION_PROCESS_COUNT": str(order.workers // order.replicas),
        "BASTION_ROLE": "default",
        "RANK": rank,
        "WORLD_SIZE": size,
        "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": "1",
        "GROUP_RANK": rank,
        "GROUP_WORLD_SIZE": size,
        "ROLE_RANK": rank,
        "ROLE_WORLD_SIZE": size,
        "ROLE_NAME": "default",
        "NODE_RANK": rank,
        "NODE_NUM": size,
        "NNODES": size,
        "JAX_NUM_PROCESSES": size,
        "JAX_PROCESS_ID": rank,
    }


def _addresses(peers: Peers) -> dict[str, str]:
    head = peers.members[0]
    return {
        "MASTER_ADDR": head.address,
        "MASTER_PORT": str(head.port),
        "JAX_COORDINATOR_ADDRESS": f"{head.address}:{head.port}",
    }


def _slices(order: Order, worker: int, peers: Peers) -> dict[str, str]:
    """Return what libtpu and JAX need to know of the slice and of the slices, named as Google's own tools name it."""
    hosts = order.workers // order.replicas
    number, host = divmod(worker, hosts)
    own = peers.members[number * hosts : (number + 1) * hosts]
    several = {
        "MEGASCALE_COORDINATOR_ADDRESS": f"{peers.members[0].address}:{MEGASCALE_PORT}",
        "MEGASCALE_PORT": str(MEGASCALE_PORT),
        "MEGASCALE_NUM_SLICES": str(order.replicas),
        "MEGASCALE_SLICE_ID": str(number),
    }
    return {
        "TPU_WORKER_ID": str(host),
        "TPU_WORKER_HOSTNAMES": ",".join(member.address for member in own),
        **(several if order.replicas > 1 else {}),
    }
