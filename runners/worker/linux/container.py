"""A job's process in a container, in the words of Docker's API. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .bounds import Bounds

MACHINE_LABEL = "bastion.machine"
_TPU = re.compile(r"accel[0-9]+|vfio/[0-9]+")
_PLACES = ("BASTION_OUTPUT_DIR", "BASTION_CHECKPOINT_DIR")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerHost:
    """What a container gets of its host: who its processes are, what bounds them, and the devices that are not NVIDIA's."""

    uid: int
    gid: int
    oom_score: int
    groups: Sequence[int] = ()
    devices: Sequence[str] = ()


def body(
    image: str, argv: Sequence[str], env: Mapping[str, str], folder: str, host: ContainerHost, bounds: Bounds
) -> dict[str, Any]:
    """How a container is asked for: on the host's network and memory, in the image's own folder.

    The job's `folder` is there under its own path, so are the folders of outputs and checkpoints if they are the host's.
    What its first process starts is told with it when it has to stop.
    """
    gpus = _gpus(env.get("BASTION_DEVICES", ""))
    locks = [_limit("memlock", -1)] if gpus or host.devices else []  # what a device reads is locked in memory
    places = {env[name] for name in _PLACES if env.get(name, "").startswith("/")}
    return {
        "Image": image,
        "Entrypoint": list(argv[:1]),
        "Cmd": list(argv[1:]),
        "Env": [f"{name}={value}" for name, value in {**env, "TINI_KILL_PROCESS_GROUP": "1"}.items()],
        "User": f"{host.uid}:{host.gid}",
        "AttachStdout": True,
        "AttachStderr": True,
        "Labels": {MACHINE_LABEL: env.get("BASTION_MACHINE", "")},
        "HostConfig": {
            "Binds": [f"{path}:{path}" for path in (folder, *sorted(places))],
            "Devices": [_device(path) for path in host.devices],
            "DeviceRequests": gpus,
            "GroupAdd": [str(group) for group in host.groups],
            "Init": True,
            "IpcMode": "host",
            "LogConfig": {"Type": "none"},
            "Memory": bounds.memory_bytes,
            "MemorySwap": bounds.memory_bytes,
            "NetworkMode": "host",
            "OomScoreAdj": host.oom_score,
            "PidsLimit": bounds.processes,
            "Ulimits": [_limit("core", 0), _limit("nofile", bounds.open_files), *locks],
        },
    }


def environment(env: Mapping[str, str], tmp: str) -> dict[str, str]:
    """What a process in an image finds of an account: the image has a PATH of its own, and no home of the account."""
    return {name: value for name, value in env.items() if name != "PATH"} | {"HOME": tmp}


def tpus(names: Iterable[str]) -> list[str]:
    """The TPUs among these files below `/dev`: each is one, or a group of the system's and the way to all groups."""
    found = sorted(f"/dev/{name}" for name in names if _TPU.fullmatch(name))
    return [*found, "/dev/vfio/vfio"] if any(name.startswith("/dev/vfio/") for name in found) else found


def _gpus(indices: str) -> list[dict[str, Any]]:
    return [{"Driver": "nvidia", "DeviceIDs": indices.split(","), "Capabilities": [["gpu"]]}] if indices else []


def _device(path: str) -> dict[str, str]:
    return {"PathOnHost": path, "PathInContainer": path, "CgroupPermissions": "rwm"}


def _limit(name: str, most: int) -> dict[str, Any]:
    return {"Name": name, "Soft": most, "Hard": most}
