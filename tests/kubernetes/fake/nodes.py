"""Nodes that also have pods of bastions: processes in a mount namespace of their own, started again when they end."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.kubernetes.fake.kubelet import Kubelet, Running
from tests.kubernetes.fake.store import Row

BASTION_IMAGE, BASTION_IMAGE_2 = "registry.example/bastion:1", "registry.example/bastion:2"
BROKEN_IMAGE = "registry.example/bastion:broken"
"""Whatever it is asked to do, it falls."""

HOST = "bastion/host"
_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
_BACK_OFF_S = 1.0
_IN = """
set -e
run="$(realpath /var/run)"
mount -t tmpfs tmpfs "$run"
cp -r "$0/files/." "$run"
exec "$@"
"""
_APART = ["unshare", "--mount", "--propagation=private"] + ([] if os.geteuid() == 0 else ["--map-root-user"])


@dataclass(kw_only=True)
class Nodes(Kubelet):
    """`roots` is the certificate at `port`, `token` makes one for an account."""

    roots: Path
    port: int
    token: Callable[[str, str], str]
    crashes: dict[str, list[float]] = field(default_factory=dict)
    """When a pod's container has ended without being told to."""

    def _pulled(self, pod: Row, *kind: str) -> bool:
        if not _is_host(pod):
            return super()._pulled(pod, *kind)
        image = pod["spec"]["containers"][0]["image"]
        if image in (BASTION_IMAGE, BASTION_IMAGE_2, BROKEN_IMAGE):
            return True
        self._wait(pod, "ImagePullBackOff", f'Back-off pulling image "{image}"')
        return False

    def _start(self, pod: Row, *kind: str) -> None:
        if not _is_host(pod):
            super()._start(pod, *kind)
            return
        container, uid = pod["spec"]["containers"][0], pod["metadata"]["uid"]
        home = self.folder / uid
        try:
            self._lay(pod, home / "files")
            env = self._variables(pod, container)
        except KeyError as error:
            self._wait(pod, "CreateContainerConfigError", f'secret "{error.args[0][2]}" not found')
            return
        inherited = {key: value for key, value in os.environ.items() if not key.startswith("BASTION_")}
        env = {**inherited, "HOME": str(home), **env}
        entry = [sys.executable, "-I", "-m", "bastion", "bastion"]
        if container["image"] == BROKEN_IMAGE:
            entry = ["sh", "-c", "echo there is no bucket; exit 1"]
        argv = [*_APART, "sh", "-c", _IN, str(home), *entry]
        log = home / "bastion.log"
        with open(log, "wb") as out:
            main = subprocess.Popen(
                [*argv, *container["args"]], env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=home
            )
        self.running[uid] = Running(main, uid, log)
        pod["status"] |= {"phase": "Running", "podIP": "127.0.0.1"}
        self._is(pod, {"running": {}})

    def _watch(self, pod: Row, one: Running) -> None:
        if not _is_host(pod):
            super()._watch(pod, one)
            return
        if time.monotonic() > one.kill_at and one.main.poll() is None:
            one.main.kill()
        if one.main.poll() is None:
            return
        if one.told:
            self.store.drop(pod)
            return
        ends = self.crashes.setdefault(pod["metadata"]["uid"], [])
        if "running" in pod["status"]["containerStatuses"][0]["state"]:
            ends.append(time.monotonic())
            if len(ends) > 1:
                self._wait(pod, "CrashLoopBackOff", "back-off restarting failed container=bastion")
        if len(ends) == 1 or time.monotonic() > ends[-1] + _BACK_OFF_S:
            self._start(pod)

    def _lay(self, pod: Row, files: Path) -> None:
        """What the pod finds mounted below /var/run."""
        spec, namespace = pod["spec"], pod["metadata"]["namespace"]
        account = {"token": self.token(namespace, spec["serviceAccountName"]), "ca.crt": self.roots.read_text()}
        volumes = {one["name"]: self._content(namespace, one) for one in spec["volumes"] if "emptyDir" not in one}
        mounts = {one["mountPath"]: volumes.get(one["name"]) for one in spec["containers"][0]["volumeMounts"]}
        for path, content in {**mounts, _ACCOUNT: account}.items():
            for name, text in (content or {}).items():
                file = files / path.removeprefix("/var/run/") / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)

    def _content(self, namespace: str, volume: Row) -> dict[str, str]:
        if "secret" in volume:
            name, optional = volume["secret"]["secretName"], volume["secret"].get("optional")
            return (
                {} if optional and ("Secret", namespace, name) not in self.store.rows else self._secret(namespace, name)
            )
        found: dict[str, str] = {}
        for source in volume["projected"]["sources"]:
            if "configMap" in source:
                found |= self.store.rows["ConfigMap", namespace, source["configMap"]["name"]]["data"]
            else:
                found[source["serviceAccountToken"]["path"]] = f"for {source['serviceAccountToken']['audience']}"
        return found

    def _secret(self, namespace: str, name: str) -> dict[str, str]:
        data: Mapping[str, str] = self.store.rows["Secret", namespace, name]["data"]
        return {key: base64.b64decode(value).decode() for key, value in data.items()}

    def _variables(self, pod: Row, container: Row) -> dict[str, str]:
        env = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(self.port)}
        for source in container.get("envFrom", []):
            env |= self._secret(pod["metadata"]["namespace"], source["secretRef"]["name"])
        return env | {one["name"]: one["value"] for one in container.get("env", [])}

    def _wait(self, pod: Row, reason: str, message: str) -> None:
        self._is(pod, {"waiting": {"reason": reason, "message": message}})

    def _is(self, pod: Row, state: dict[str, Any]) -> None:
        restarts = len(self.crashes.get(pod["metadata"]["uid"], []))
        told = [{"name": "bastion", "state": state, "restartCount": restarts}]
        if pod["status"].get("containerStatuses") != told:
            pod["status"]["containerStatuses"] = told
            self.store.touch(pod)


def _is_host(pod: Row) -> bool:
    return HOST in pod["metadata"]["labels"]
