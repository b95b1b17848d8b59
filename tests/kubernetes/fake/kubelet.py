"""Nodes of a fake cluster, whose pods are processes of this machine.

Their containers have an init of their own: a pod has ended when none of its processes is left.
"""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from bastion.runners.local import process_marks
from tests.kubernetes.fake.containers import Image, container_of, environment
from tests.kubernetes.fake.store import Row, Store, condition

_NEVER = float("inf")


@dataclass
class Node:
    """A machine of the cluster."""

    labels: Mapping[str, str] = field(default_factory=dict)
    pods: int = 64


@dataclass
class Running:
    """The processes of a pod. `first`: an init container is running. `kill_at`: when its time for the end is over."""

    main: subprocess.Popen[bytes]
    machine: str
    log: Path
    first: bool = False
    told: bool = False
    kill_at: float = _NEVER
    dead: str = ""


@dataclass
class Kubelet:
    """All nodes."""

    store: Store
    folder: Path
    images: dict[str, Image]
    shared: Path
    """A folder that all containers have under its own path: the bucket is in it."""

    nodes: dict[str, Node] = field(default_factory=lambda: {"node-1": Node()})
    running: dict[str, Running] = field(default_factory=dict)

    def turn(self) -> None:
        """Start what can be started, see what has ended."""
        for pod in self.store.of("Pod"):
            uid = pod["metadata"]["uid"]
            if uid in self.running:
                self._watch(pod, self.running[uid])
            elif pod["status"]["phase"] == "Pending" and self._placed(pod):
                kind = "initContainers" if "initContainers" in pod["spec"] else "containers"
                if self._pulled(pod, kind):
                    self._start(pod, kind)

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

    def _pulled(self, pod: Row, kind: str = "containers") -> bool:
        container = pod["spec"][kind][0]
        if container["image"] in self.images:
            return True
        held = {"reason": "ImagePullBackOff", "message": f'Back-off pulling image "{container["image"]}"'}
        self._tell(pod, kind, container, {"waiting": held})
        return False

    def _tell(self, pod: Row, kind: str, container: Row, state: Row) -> None:
        """The state of a container, if it is news."""
        told, key = [{"name": container["name"], "state": state}], f"{kind.removesuffix('s')}Statuses"
        if pod["status"].get(key) != told:
            pod["status"][key] = told
            self.store.touch(pod)

    def _start(self, pod: Row, kind: str = "containers") -> None:
        metadata, container = pod["metadata"], pod["spec"][kind][0]
        pod["status"] |= {"phase": "Running" if kind == "containers" else "Pending", "podIP": "127.0.0.1"}
        env = environment(pod, container)
        home = self.folder / metadata["uid"]
        home.mkdir(parents=True, exist_ok=True)
        argv, env = container_of(self.images[container["image"]], container, env, home, self.shared)
        log_file = home / f"{container['name']}.log"
        with open(log_file, "wb") as log:
            main = subprocess.Popen(
                argv, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        first = kind == "initContainers"
        self.running[metadata["uid"]] = Running(main, env.get("BASTION_MACHINE", ""), log_file, first)
        self.store.touch(pod)

    def _first_ended(self, pod: Row, one: Running, code: int) -> None:
        """Its init container has ended: now the others may begin, or never."""
        if code and not one.told:
            end = {"exitCode": code, "reason": "Error", "message": one.log.read_text()[-2048:]}
            self._tell(pod, "initContainers", pod["spec"]["initContainers"][0], {"terminated": end})
            pod["status"]["phase"] = "Failed"
        elif not one.told:
            if self._pulled(pod):
                self._start(pod)
            return
        self.store.touch(pod)
        if one.told:
            self.store.drop(pod)

    def _watch(self, pod: Row, one: Running) -> None:
        if time.monotonic() > one.kill_at:
            self._kill(one)
        code = one.main.poll()
        if pod["status"]["phase"] in ("Succeeded", "Failed"):
            if one.told:
                self.store.drop(pod)  # not before its Job has counted how it ended
            return
        if code is None:
            return
        if one.first:
            self._first_ended(pod, one, code)
            return
        if any(process.machine == one.machine for process in process_marks.scan()):
            return
        pod["status"]["phase"] = "Failed" if code or one.dead else "Succeeded"
        if one.dead:
            pod["status"]["reason"] = one.dead
        self.store.touch(pod)

    def _kill(self, one: Running) -> None:
        process_marks.kill([process for process in process_marks.scan() if process.machine == one.machine])
        if one.main.poll() is None:
            one.main.kill()
