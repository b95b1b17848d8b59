"""A job's process in a container, described for Docker's API. Pure."""

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
    """The host's part of a container's description.

    uid: the user id of its processes.
    gid: the group id of its processes.
    oom_score: the score that makes the kernel end its processes first when memory runs out.
    groups: further group ids of its processes.
    devices: the devices other than NVIDIA's, as paths below `/dev`.
    """

    uid: int
    gid: int
    oom_score: int
    groups: Sequence[int] = ()
    devices: Sequence[str] = ()


def body(
    image: str, argv: Sequence[str], env: Mapping[str, str], folder: str, host: ContainerHost, bounds: Bounds
) -> dict[str, Any]:
    """Return the description of a container: on the host's network and memory, in the image's own folder.

    The job's `folder` keeps its own path inside; so do local folders of outputs and checkpoints. A stop signal reaches
    the first process and its process group.
    """
    gpus = _gpus(env.get("BASTION_DEVICES", ""))
    locks = [_limit("memlock", -1)] if gpus or host.devices else []  # a device reads from memory that is locked
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
    """Return the variables of a process in an image: the PATH is the image's own, and HOME is the folder `tmp`."""
    return {name: value for name, value in env.items() if name != "PATH"} | {"HOME": tmp}


def tpus(names: Iterable[str]) -> list[str]:
    """Return the TPUs among these files below `/dev`.

    Each is one device, or a group of VFIO; `/dev/vfio/vfio` comes with the groups, because they need it.
    """
    found = sorted(f"/dev/{name}" for name in names if _TPU.fullmatch(name))
    return [*found, "/dev/vfio/vfio"] if any(name.startswith("/dev/vfio/") for name in found) else found


def _gpus(indices: str) -> list[dict[str, Any]]:
    return [{"Driver": "nvidia", "DeviceIDs": indices.split(","), "Capabilities": [["gpu"]]}] if indices else []


def _device(path: str) -> dict[str, str]:
    return {"PathOnHost": path, "PathInContainer": path, "CgroupPermissions": "rwm"}


def _limit(name: str, most: int) -> dict[str, Any]:
    return {"Name": name, "Soft": most, "Hard": most}
