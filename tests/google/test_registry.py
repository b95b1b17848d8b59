"""Images in Artifact Registry: a real engine pushes to a real registry, which takes nobody but who google-auth says we are."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from bastion.bundler.interface import Bundle
from bastion.cli.common.bundler_settings import settings_of
from bastion.cli.common.image_bundling import image_bundler
from bastion.model.errors import BundleError, UsageError
from bastion.platform.system import SystemClock
from bastion.runners.google.api.interface import CredentialsMissing
from bastion.stores.memory import MemoryBucket
from tests.google.fake import Fake
from tests.google.fake.fake import PROJECT
from tests.support.engine import engine, registry_at

HOST, TOKEN = "europe-west4-docker.pkg.dev", "ya29.somebody"
NAME = f"{HOST}/{PROJECT}/images/team/train"
REPOSITORY = f"projects/{PROJECT}/locations/europe-west4/repositories/images"


class Tokens(BaseHTTPRequestHandler):
    """Where google-auth changes a service account's signature for a token."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        body = json.dumps({"access_token": TOKEN, "expires_in": 3600, "token_type": "Bearer"}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def credentials(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The key of a service account."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Tokens)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    file = tmp_path_factory.mktemp("login") / "key.json"
    told = {
        "type": "service_account",
        "client_email": f"ada@{PROJECT}.iam.gserviceaccount.com",
        "private_key": key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode(),
        "token_uri": f"http://127.0.0.1:{server.server_address[1]}/token",
        "project_id": PROJECT,
    }
    file.write_text(json.dumps(told))
    yield file
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def led(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an engine for which Google's registry is ours, with a password of its own."""
    number = os.getpid()
    address = f"127.77.{number // 250 % 250 + 1}.{number % 250 + 1}"
    with (
        registry_at(address, tmp_path_factory.mktemp("registry"), ("oauth2accesstoken", TOKEN)),
        engine(tmp_path_factory.mktemp("engine"), {HOST: address}) as running,
    ):
        yield running.address


@pytest.fixture
def fake(led: str, credentials: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    with Fake() as running:
        for name, value in running.environment().items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("DOCKER_HOST", led)
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(credentials))
        with running.clock.lock:
            running.cloud.rows.put(REPOSITORY, {"name": REPOSITORY, "format": "DOCKER"})
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "Dockerfile").write_text("FROM scratch\nCOPY Dockerfile /\n")
    return tmp_path


def packed(folder: Path, *settings: str, kind: str = "artifactregistry") -> Bundle:
    nothing: Any = None
    wanted = settings_of(kind, settings)
    said: list[str] = []
    bundler = image_bundler(wanted, SystemClock(), said.append, tar=nothing, url_of=lambda key: "file:///x", wait=True)
    return bundler.bundle(folder, MemoryBucket("memory://images"))


def test_an_image_is_pushed_by_whoever_google_says_that_we_are(fake: Fake, folder: Path) -> None:
    bundle = packed(folder, f"image={NAME}")
    assert (bundle.image, len(bundle.digest)) == (NAME, 64)
    assert packed(folder, f"image={NAME}").digest == bundle.digest
    assert [call.method.rpartition(".")[2] for call in fake.calls("artifactregistry.")] == ["get", "get"]


def test_without_that_login_the_registry_takes_nothing(fake: Fake, folder: Path) -> None:
    with pytest.raises(
        BundleError, match="; run docker login, ask for the right, or use --bundler_type=artifactregistry"
    ):
        packed(folder, f"image={NAME}", kind="docker")


def test_a_login_that_is_not_there_says_how_to_log_in(
    fake: Fake, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere/key.json")
    with pytest.raises(CredentialsMissing, match="gcloud auth application-default login"):
        packed(folder, f"image={NAME}")


def test_a_repository_that_is_not_there_is_told_before_anything_is_built(fake: Fake, folder: Path) -> None:
    wanted = f"image={HOST}/{PROJECT}/other/train"
    make = f"gcloud artifacts repositories create other --repository-format=docker --location=europe-west4 --project={PROJECT}"
    with pytest.raises(BundleError, match=make):
        packed(folder, wanted)
    with pytest.raises(BundleError, match="is not in Artifact Registry; use LOCATION-docker"):
        packed(folder, "image=gcr.io/p/train")
    with pytest.raises(BundleError, match=r"did you mean us-docker\.pkg\.dev\?"):
        packed(folder, "image=us-docker.pkg.de/p/i/train")


def test_an_image_that_is_there_is_taken_by_its_tag(fake: Fake, folder: Path) -> None:
    digest = "ab" * 32
    with fake.clock.lock:
        row = {"name": f"{REPOSITORY}/dockerImages/team%2Ftrain@sha256:{digest}", "uri": "x", "tags": ["v1"]}
        fake.cloud.rows.put(row["name"], row)
    assert packed(folder, f"image={NAME}:v1", "skip_bundle=true") == Bundle("image", image=NAME, digest=digest)
    with pytest.raises(BundleError, match=f"there is no {NAME}:v2; check the name and the tag"):
        packed(folder, f"image={NAME}:v2", "skip_bundle=true")
    with pytest.raises(UsageError, match="leave target out"):
        packed(folder, f"image={NAME}:v1", "skip_bundle=true", "target=x")
