"""What an engine is asked for, who a machine is to a registry, and what an engine's words mean."""

from __future__ import annotations

import base64
import errno
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bastion.model.errors import BundleError
from bastion.runners.google.machines.image_credentials import login
from bastion.runners.worker.linux.bounds import Bounds
from bastion.runners.worker.linux.container import ContainerHost, body, environment, tpus
from bastion.runners.worker.linux.container_engine import Engine

HOST = ContainerHost(uid=1500, gid=1501, oom_score=500, groups=(44,))
IMAGE = "r.example/team/x@sha256:" + "ab" * 32


def wanted(host: ContainerHost = HOST, **env: str) -> Any:
    return body(IMAGE, ["prog", "-x", "a b"], env, "/w", host, Bounds(memory=2, processes=50))


def test_nothing_of_the_job_is_a_flag_and_no_value_is_cut() -> None:
    asked = wanted(PEM="a\nb=c", BASTION_MACHINE="z/n/1/0")
    assert (asked["Image"], asked["Entrypoint"], asked["Cmd"]) == (IMAGE, ["prog"], ["-x", "a b"])
    assert "PEM=a\nb=c" in asked["Env"]
    assert asked["User"] == "1500:1501"
    assert asked["HostConfig"]["GroupAdd"] == ["44"]
    assert (asked["HostConfig"]["Memory"], asked["HostConfig"]["PidsLimit"]) == (2 * 2**30, 50)
    assert asked["Labels"] == {"bastion.machine": "z/n/1/0"}
    assert not asked["HostConfig"].get("Privileged")


def test_its_folders_are_there_under_their_own_paths() -> None:
    binds = wanted(BASTION_OUTPUT_DIR="/nfs/o", BASTION_CHECKPOINT_DIR="gs://b/c")["HostConfig"]["Binds"]
    assert binds == ["/w:/w", "/nfs/o:/nfs/o"]


def test_it_has_the_gpus_of_its_worker_and_no_others() -> None:
    asked = wanted(BASTION_DEVICES="2,3")["HostConfig"]
    assert asked["DeviceRequests"] == [{"Driver": "nvidia", "DeviceIDs": ["2", "3"], "Capabilities": [["gpu"]]}]
    assert {"Name": "memlock", "Soft": -1, "Hard": -1} in asked["Ulimits"]
    without = wanted(BASTION_DEVICES="")["HostConfig"]
    assert without["DeviceRequests"] == []
    assert [limit["Name"] for limit in without["Ulimits"]] == ["core", "nofile"]


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["null", "accel1", "accel0", "accel", "accelerometer"], ["/dev/accel0", "/dev/accel1"]),
        (["vfio/vfio", "vfio/0", "vfio/1"], ["/dev/vfio/0", "/dev/vfio/1", "/dev/vfio/vfio"]),
        (["vfio/vfio", "null", "nvidia0"], []),
    ],
)
def test_tpus_are_known_by_their_devices(names: list[str], found: list[str]) -> None:
    assert tpus(names) == found


def test_the_image_keeps_its_path_and_the_account_has_a_home() -> None:
    assert environment({"PATH": "/host", "HOME": "/home/x", "USER": "x", "A": "1"}, "/tmp/w") == {
        "HOME": "/tmp/w",
        "USER": "x",
        "A": "1",
    }


def test_what_docker_login_has_left_is_told_to_that_registry_alone(tmp_path: Path) -> None:
    auth = base64.b64encode(b"ada:wo:rd").decode()
    (tmp_path / "config.json").write_text(json.dumps({"auths": {"r.example": {"auth": auth}}}))
    environ = {"DOCKER_CONFIG": str(tmp_path)}
    assert login("r.example", environ) == {"username": "ada", "password": "wo:rd", "serveraddress": "r.example"}
    assert login("other.example", environ) is None
    assert login("r.example", {"HOME": str(tmp_path)}) is None


@pytest.mark.parametrize("text", ["", "[]", "{", '{"auths": []}', '{"auths": {"r.example": {"auth": "\\u00e9"}}}'])
def test_settings_that_make_no_sense_are_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    assert login("r.example", {"DOCKER_CONFIG": str(tmp_path)}) is None


@contextmanager
def answering(path: Path, status: int, text: str) -> Iterator[None]:
    """An engine that answers one question so."""
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(path))
        door.listen(1)

        def serve() -> None:
            caller, _ = door.accept()
            with caller:
                caller.recv(65_536)
                caller.sendall(f"HTTP/1.1 {status} X\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode())

        thread = threading.Thread(target=serve)
        thread.start()
        yield
        thread.join()


@pytest.mark.parametrize(
    ("status", "text", "words"),
    [
        (404, '{"message": "manifest unknown"}', "manifest unknown; is it there, and may this machine read it?"),
        (500, "<html>", "500 X; is it there"),
        (200, '{"status": "Pulling"}\n{"error": "unauthorized:\\n no"}\n', "unauthorized: no; is it there"),
    ],
)
def test_an_image_that_cannot_be_had_is_the_jobs_failure(tmp_path: Path, status: int, text: str, words: str) -> None:
    engine = Engine(f"unix://{tmp_path}/s", "c", lambda _: None)
    with answering(tmp_path / "s", status, text), pytest.raises(BundleError) as failed:
        engine.pull(IMAGE)
    assert words in str(failed.value)
    assert "\n" not in str(failed.value)


def test_a_full_disk_is_the_machines(tmp_path: Path) -> None:
    engine = Engine(str(tmp_path / "s"), "c", lambda _: None)
    said = '{"error": "write /var/lib/docker/x: no space left on device"}\n'
    with answering(tmp_path / "s", 200, said), pytest.raises(OSError, match="no space left") as failed:
        engine.pull(IMAGE)
    assert failed.value.errno == errno.ENOSPC
