"""Nodes of a fake cluster, whose pods are processes of this machine.

Their containers have an init of their own: a pod has ended when none of its processes is left.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from runners.local import marks
from tests.kubernetes.fake.store import Row, Store, condition

_NEVER = float("inf")


@dataclass
class Node:
    """A machine of the cluster."""

    labels: Mapping[str, str] = field(default_factory=dict)
    pods: int = 64


@dataclass
class Running:
    """The processes of a pod. `kill_at`: when its time for the end is over."""

    main: subprocess.Popen[bytes]
    machine: str
    log: Path
    told: bool = False
    kill_at: float = _NEVER
    dead: str = ""


@dataclass
class Kubelet:
    """All nodes."""

    store: Store
    folder: Path
    images: set[str]
    nodes: dict[str, Node] = field(default_factory=lambda: {"node-1": Node()})
    running: dict[str, Running] = field(default_factory=dict)

    def turn(self) -> None:
        """Start what can be started, see what has ended."""
        for pod in self.store.of("Pod"):
            uid = pod["metadata"]["uid"]
            if uid in self.running:
                self._watch(pod, self.running[uid])
            elif pod["status"]["phase"] == "Pending" and self._placed(pod) and self._pulled(pod):
                self._start(pod)

    def end(self, pod: Row, grace_s: int | None) -> None:
        """A deletion: notice, and a kill in time, which a later deletion may bring forward."""
        one = self.running.get(pod["metadata"]["uid"])
        if one is None or pod["status"]["phase"] in ("Succeeded", "Failed"):
            self.store.drop(pod)
            return
        if not one.told:
            one.told = True
            pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
            self.store.touch(pod)
            with suppress(ProcessLookupError):
                one.main.send_signal(signal.SIGTERM)
            grace_s = pod["spec"].get("terminationGracePeriodSeconds", 30) if grace_s is None else grace_s
        if grace_s is not None:
            one.kill_at = min(one.kill_at, time.monotonic() + grace_s)

    def preempt(self, node: str, notice_s: float = 1.0) -> None:
        """A node is taken away: its pods have a moment, and fail; then it is no more."""
        self.nodes.pop(node)
        for pod in self.store.of("Pod"):
            one = self.running.get(pod["metadata"]["uid"])
            if one is not None and pod["spec"].get("nodeName") == node:
                one.dead = "Terminated"
                one.main.send_signal(signal.SIGTERM)
                one.kill_at = min(one.kill_at, time.monotonic() + notice_s)

    def close(self) -> None:
        for one in self.running.values():
            self._kill(one)
            one.main.wait()

    def _placed(self, pod: Row) -> bool:
        if "nodeName" in pod["spec"]:
            return True
        wants = pod["spec"].get("nodeSelector", {}).items()
        taken = [other["spec"].get("nodeName") for other in self.store.of("Pod") if self._is_live(other)]
        for name, node in self.nodes.items():
            if wants <= node.labels.items() and taken.count(name) < node.pods:
                pod["spec"]["nodeName"] = name
                condition(pod, "PodScheduled")
                self.store.touch(pod)
                return True
        why = f"0/{len(self.nodes)} nodes are available: {len(self.nodes)} node(s) didn't match Pod's node affinity/selector."
        self._say(pod, "PodScheduled", "Unschedulable", why)
        return False

    def _is_live(self, pod: Row) -> bool:
        return pod["status"]["phase"] not in ("Succeeded", "Failed")

    def _say(self, pod: Row, kind: str, reason: str, why: str) -> None:
        if not any(one["reason"] == reason for one in pod["status"].get("conditions", [])):
            condition(pod, kind, "False", reason, why)
            self.store.touch(pod)

    def _pulled(self, pod: Row) -> bool:
        image = pod["spec"]["containers"][0]["image"]
        if image in self.images:
            return True
        held = {"reason": "ImagePullBackOff", "message": f'Back-off pulling image "{image}"'}
        if not pod["status"].get("containerStatuses"):
            pod["status"]["containerStatuses"] = [{"name": "worker", "state": {"waiting": held}}]
            self.store.touch(pod)
        return False

    def _start(self, pod: Row) -> None:
        metadata, container = pod["metadata"], pod["spec"]["containers"][0]
        pod["status"] |= {"phase": "Running", "podIP": "127.0.0.1"}
        env = _environment(pod, container)
        home = self.folder / metadata["uid"]
        home.mkdir(parents=True)
        mounts = {one["mountPath"]: str(home) for one in container["volumeMounts"] if one["name"] == "work"}
        argv = [sys.executable, *container["command"][1:]]
        for arg in container["args"]:
            said = _expanded(arg, env)
            for path, here in mounts.items():
                said = re.sub(rf"=({re.escape(path)})(?=/)", f"={here}", said)
            argv.append(said)
        with open(home / "container.log", "wb") as log:
            main = subprocess.Popen(
                argv,
                env={**_inherited(), **env},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.running[metadata["uid"]] = Running(main, env.get("BASTION_MACHINE", ""), home / "container.log")
        self.store.touch(pod)

    def _watch(self, pod: Row, one: Running) -> None:
        if time.monotonic() > one.kill_at:
            self._kill(one)
        code = one.main.poll()
        if code is None or pod["status"]["phase"] in ("Succeeded", "Failed"):
            return
        if any(process.machine == one.machine for process in marks.scan()):
            return
        pod["status"]["phase"] = "Failed" if code or one.dead else "Succeeded"
        if one.dead:
            pod["status"]["reason"] = one.dead
        self.store.touch(pod)
        if one.told:
            self.store.drop(pod)

    def _kill(self, one: Running) -> None:
        marks.kill([process for process in marks.scan() if process.machine == one.machine])
        if one.main.poll() is None:
            one.main.kill()


def _inherited() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if not key.startswith("BASTION_")}


def _environment(pod: Row, container: Row) -> dict[str, str]:
    metadata = pod["metadata"]
    fields = {
        "metadata.name": metadata["name"],
        "metadata.uid": metadata["uid"],
        "status.podIP": pod["status"]["podIP"],
    }
    fields |= {f"metadata.labels['{key}']": value for key, value in metadata["labels"].items()}
    env: dict[str, str] = {}
    for one in container["env"]:
        if "valueFrom" in one:
            env[one["name"]] = fields.get(one["valueFrom"]["fieldRef"]["fieldPath"], "")
        else:
            env[one["name"]] = _expanded(one["value"], env)
    return env


def _expanded(text: str, env: Mapping[str, str]) -> str:
    def value(found: re.Match[str]) -> str:
        return found[0][1:] if found[0].startswith("$$") else env.get(found[1], found[0])

    return re.sub(r"\$?\$\(([A-Za-z_][A-Za-z0-9_]*)\)", value, text)
