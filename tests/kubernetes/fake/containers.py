"""Containers of a fake cluster: processes, in the file system of an image and with the volumes of their pod."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.kubernetes.fake.store import Row


@dataclass(frozen=True)
class Image:
    """What a container finds. `root`: its whole file system, and there is no other; None: it is that of this machine."""

    root: Path | None = None
    folder: str = "/"
    env: Mapping[str, str] = field(default_factory=dict)


_ENTER = """
root=$0 own=$PATH PATH=/usr/sbin:/usr/bin:/sbin:/bin
while [ "$1" != -- ]; do mkdir -p "$root$2" && mount --bind "$1" "$root$2"; shift 2; done
shift
exec chroot "$root" /bin/sh -c 'PATH=$0; cd "$1" && shift && exec "$@"' "$own" "$@"
"""
"""In a mount namespace of its own: pairs of folders, where they are and where they are wanted, `--`, a folder and a command."""


def container_of(
    image: Image, container: Row, env: Mapping[str, str], home: Path, shared: Path
) -> tuple[list[str], dict[str, str]]:
    """How a container is started: its command and its environment. A volume is a folder of the pod's `home`."""
    volumes = {one["mountPath"]: home / one["name"] for one in container["volumeMounts"]}
    for folder in volumes.values():
        folder.mkdir(exist_ok=True)
    words = [_expanded(word, env) for word in (*container["command"], *container.get("args", ()))]
    if image.root is None:
        return _here(words, volumes), {**_inherited(), **image.env, **env}
    mounts = {"/dev": Path("/dev"), "/proc": Path("/proc"), str(shared): shared, **volumes}
    pairs = [str(word) for wanted, there in mounts.items() if wanted != "/dev/shm" for word in (there, wanted)]
    apart = [shutil.which("unshare") or "unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    enter = [*apart, "/bin/sh", "-c", _ENTER, str(image.root), *pairs, "--", image.folder, *words]
    return enter, {"PATH": os.environ["PATH"], **image.env, **env}


def _here(words: list[str], volumes: Mapping[str, Path]) -> list[str]:
    """In the worker's image, which is this installation, the folders of volumes go by where they are."""
    argv = [sys.executable, *words[1:]]
    for wanted, there in volumes.items():
        argv = [re.sub(rf"(^|=){re.escape(wanted)}(?=/|$)", rf"\1{there}", word) for word in argv]
    return argv


def _inherited() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if not key.startswith("BASTION_")}


def environment(pod: Row, container: Row) -> dict[str, str]:
    """What its manifest says of the environment of a container."""
    metadata = pod["metadata"]
    fields = {
        "metadata.name": metadata["name"],
        "metadata.uid": metadata["uid"],
        "status.podIP": pod["status"]["podIP"],
    }
    fields |= {f"metadata.labels['{key}']": value for key, value in metadata["labels"].items()}
    env: dict[str, str] = {}
    for one in container.get("env", ()):
        if "valueFrom" in one:
            env[one["name"]] = fields.get(one["valueFrom"]["fieldRef"]["fieldPath"], "")
        else:
            env[one["name"]] = _expanded(one["value"], env)
    return env


def _expanded(text: str, env: Mapping[str, str]) -> str:
    def value(found: re.Match[str]) -> str:
        return found[0][1:] if found[0].startswith("$$") else env.get(found[1], found[0])

    return re.sub(r"\$?\$\(([A-Za-z_][A-Za-z0-9_]*)\)", value, text)
