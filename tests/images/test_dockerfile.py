"""The repository's own Dockerfile, built on a base of this machine's packages and run: both images, without a network."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bastion.runners.google.hosting.startup_script import SCRIPT
from bastion.stores.opening import open_part
from tests.google.fake import Fake
from tests.google.support.metadata import Metadata
from tests.google.support.own_vm import QUICK, OwnVm
from tests.support.bench import Bench
from tests.support.engine import Engine, base_image, printed
from tests.support.fleet import until
from tests.support.servers import new_bucket

ROOT = Path(__file__).parents[2]
PYTHON = "bastion-test-python"
MB = 10**6


@pytest.fixture(scope="module")
def python_base(docker_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A base with Python, and with the wheels that the locks name: what a package index would give."""
    folder = tmp_path_factory.mktemp("wheels")
    said = subprocess.run(["/usr/bin/python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], **_TEXT)
    setuptools = re.search(r"^setuptools==.*\n(?: .*\n)*", (ROOT / "requirements-dev.lock").read_text(), re.MULTILINE)
    assert setuptools is not None
    (folder / "setuptools.lock").write_text(setuptools[0])
    argv = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "download", "--no-deps"]
    argv += ["--require-hashes", "--only-binary=:all:", f"--python-version={said.stdout.strip()}"]
    locks = [ROOT / "requirements-image.lock", folder / "setuptools.lock"]
    subprocess.run([*argv, f"--dest={folder}/all", *(f"--requirement={lock}" for lock in locks)], **_TEXT)
    (folder / "pip.conf").write_text("[global]\nno-index = true\nfind-links = /wheels\n")
    files = {"wheels": folder / "all", "etc/pip.conf": folder / "pip.conf"}
    base_image(docker_engine.client, PYTHON, "python3", "python3-venv", "passwd", files=files)
    return PYTHON


_TEXT: Any = {"check": True, "stdout": subprocess.PIPE, "text": True, "timeout": 600}


@pytest.fixture(scope="module", params=["worker", "bastion"])
def image(request: pytest.FixtureRequest, docker_engine: Engine, python_base: str) -> str:
    """One of the two images, built."""
    name = f"bastion-test-{request.param}"
    docker_engine.client.images.build(
        path=str(ROOT), tag=name, target=request.param, buildargs={"BASE": python_base}, network_mode="none", rm=True
    )
    return name


def inside(engine: Engine, image: str, *command: str) -> str:
    """What a command prints that is run in the place of the entry."""
    made = engine.client.containers.run(image, command[1:], entrypoint=command[0], network_mode="none", detach=True)
    try:
        made.wait(timeout=180)
        return str(made.logs().decode())
    finally:
        made.remove(force=True)


def test_an_image_is_small_runs_as_nobody_special_and_says_what_it_is(docker_engine: Engine, image: str) -> None:
    size = docker_engine.client.images.get(image).attrs["Size"] - docker_engine.client.images.get(PYTHON).attrs["Size"]
    assert size < (135 if image.endswith("bastion") else 100) * MB
    assert (
        inside(docker_engine, image, "/usr/bin/id") == "uid=10001(bastion) gid=10001(bastion) groups=10001(bastion)\n"
    )
    assert inside(docker_engine, image, "/bin/sh", "-c", "pwd; touch a && ls") == "/home/bastion\na\n"
    assert inside(docker_engine, image, "/bin/sh", "-c", "echo x > /usr/local/bastion/x").endswith("denied\n")
    program = image.removeprefix("bastion-test-")
    if program == "bastion":
        assert printed(docker_engine, image, "--version").startswith("bastion 0.")
        assert "usage: bastion COMMAND" in printed(docker_engine, image)
    else:
        assert "job" in printed(docker_engine, image, "--machine=m")


def test_clouds_and_engines_are_in_the_bastions_image_alone(docker_engine: Engine, image: str) -> None:
    known = "from bastion.runners.google.api.service_descriptions import VERSIONS, service"
    services = f"{known}; print(*(len(service(n).document) > 9 for n in VERSIONS))"
    said = inside(docker_engine, image, "/usr/local/bastion/bin/python", "-I", "-c", f"import docker; {services}")
    if image.endswith("worker"):
        assert "No module named 'docker'" in said
    else:
        assert set(said.split()) == {"True"}, said


BROUGHT_ALONG = """
import hashlib, tarfile
from bastion.runners.delivery.archive_cache import LAID, kept_in
found = kept_in([LAID], None)  # without a shell none can be made
data = found.read()
print(found.digest == hashlib.sha256(data).hexdigest(), len(data), *sorted(path.name for path in LAID.iterdir()))
"""


def test_a_bastion_brings_the_worker_of_googles_machines_along(docker_engine: Engine, image: str) -> None:
    said = inside(docker_engine, image, "/usr/local/bastion/bin/python", "-I", "-c", BROUGHT_ALONG)
    if image.endswith("worker"):
        assert "AttributeError" in said, said
        return
    is_whole, size, *names = said.split()
    assert (is_whole, names[1:]) == ("True", ["manifest.json"]), said
    assert int(size) < 32 * MB


IN_A_POD = """
from bastion.runners.kubernetes.client import check, log_in
check()
print(log_in().url, log_in().headers())
"""


def test_a_bastion_in_a_pod_needs_no_client_of_kubernetes(docker_engine: Engine, image: str, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    for name in ("token", "ca.crt"):
        (tmp_path / name).write_text("sesame")
    made = docker_engine.client.containers.run(
        image,
        ["-I", "-c", IN_A_POD],
        entrypoint="/usr/local/bastion/bin/python",
        volumes={str(tmp_path): {"bind": "/run/secrets/kubernetes.io/serviceaccount", "mode": "ro"}},
        environment={"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"},
        network_mode="none",
        detach=True,
    )
    try:
        made.wait(timeout=60)
        assert made.logs().decode() == "https://10.0.0.1:443 {'authorization': 'Bearer sesame'}\n"
    finally:
        made.remove(force=True)


def test_a_bastion_runs_from_its_image(docker_engine: Engine, image: str, tmp_path: Path) -> None:
    if not image.endswith("bastion"):
        return
    tmp_path.chmod(0o755)
    bucket = tmp_path / "bucket"
    bench = Bench(bucket)
    for path in (bucket, *bucket.rglob("*")):
        path.chmod(0o777)
    made = docker_engine.client.containers.run(
        image,
        ["start", "--bastion=b", "--bucket=file:///bucket", "--capacity=v4=8"],
        volumes={str(bucket): {"bind": "/bucket", "mode": "rw"}},
        network_mode="none",
        user=f"{bucket.stat().st_uid}",
        environment={"HOME": "/tmp"},
        detach=True,
    )
    try:
        words = ("--user_id=alice", "--project_id=nlp", "--bundler_type=none", "--resources=v4=1", "--name=n")
        said = bench.launch(*words, "--wait", "--", "sh", "-c", "id; python3 -V")
        assert (said.code, made.logs().decode()[-2000:]) == (0, made.logs().decode()[-2000:]), said.err
        assert "Python 3" in bench.launch("logs", "n", "--no_follow").out
        made.stop(timeout=180)
        assert made.wait(timeout=180)["StatusCode"] == 0
    finally:
        made.remove(force=True)


CURL = """#!/bin/sh
exec {curl} --connect-to metadata.google.internal:80:127.0.0.1:{port} "$@"
"""


@contextmanager
def a_vm(folder: Path, engine: Engine, attributes: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """The environment of a VM's system: its engine, its metadata server, and Google's login, which no other registry needs."""
    programs = folder / "programs"
    programs.mkdir()
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    (programs / "curl").write_text(CURL.format(curl=shutil.which("curl"), port=port))
    (programs / "curl").chmod(0o755)
    with Metadata(attributes).served(listener):
        yield {"PATH": f"{programs}:{os.environ['PATH']}", "DOCKER_HOST": engine.address}


def test_a_bastions_vm_starts_it_on_its_engine_and_it_asks_for_machines(
    docker_engine: Engine,
    image: str,
    registry_host: str,
    gcs_address: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The VM's own script and the image itself; it has Google's APIs, and machines never come."""
    if not image.endswith("bastion"):
        return
    client, name = docker_engine.client, f"{registry_host}/bastion"
    client.images.get(image).tag(name)
    client.images.push(name)
    client.images.remove(name)
    pushed = client.images.get_registry_data(name).id
    new_bucket(gcs_address, "of-images")
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", gcs_address)
    with Fake(speed=1, start=time.time()) as google:
        google.cloud.delays = QUICK
        here = OwnVm(tmp_path, google, "gs://of-images/demo", gcs_address)
        assert here.on_google("--terraform=infra").returncode == 0  # the settings are stored, and nothing is made
        told = {"bastion-image": f"{name}@{pushed}", "bastion-name": "demo", "bastion-bucket": "gs://of-images"}
        leads = {**google.environment(), "STORAGE_EMULATOR_HOST": gcs_address}
        with a_vm(tmp_path, docker_engine, told) as environ:
            apart = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs tmpfs /var/lib && exec sh -c "$0"', SCRIPT]
            booted = subprocess.run(apart, env={**environ, **leads}, capture_output=True, text=True, timeout=300)
        assert booted.stdout.endswith("bastion: the container runs\n"), booted
        container = client.containers.get("bastion")
        try:
            until(lambda: here.run("bastion", "status").returncode == 0)
            here.submit("train", "--instance_type=tpu-v4-8", run="true")
            until(lambda: bool(google.calls("tpu.projects.locations.queuedResources.create")))
            # The worker that the image brought along, and none that was made.
            laid = container.exec_run(["/bin/sh", "-c", "cd /usr/local/bastion/share/bastion-worker && ls; ls -A ~"])
            [archive, nothing_else] = laid.output.decode().split()
            assert nothing_else == "manifest.json"
            assert open_part("gs://of-images/demo").read(f"builds/{archive}").version
            container.stop(timeout=180)
            assert container.wait(timeout=180)["StatusCode"] == 0
            assert here.ask("bastion", "status")["state"] == "stopped"
        except AssertionError as error:
            error.add_note(container.logs().decode()[-3000:])
            raise
        finally:
            container.remove(force=True)
