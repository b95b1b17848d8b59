"""The bucket of Google Cloud Storage answers rightly whatever the network and the store do to its requests."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from uuid import uuid4

import pytest
from google.cloud import storage

from bastion.model.errors import AccessDenied, BucketNotFound, ObjectNotFound, UsageError
from bastion.stores.gcs import GcsBucket
from tests.contract.fault_contract import ASKS, FaultContract
from tests.support.faultproxy import FaultProxy, Refuse


@pytest.fixture
def proxy(gcs_address: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultProxy]:
    with FaultProxy(gcs_address) as proxy:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", proxy.url)
        yield proxy


@pytest.fixture
def name(proxy: FaultProxy) -> str:
    name = f"b-{uuid4()}"
    with storage.Client() as client:
        client.create_bucket(name).blob("old").upload_from_string(b"old")
    proxy.requests.clear()
    return name


@pytest.fixture
def opens(name: str) -> partial[GcsBucket]:
    return partial(GcsBucket, f"gs://{name}")


class TestGcsFaults(FaultContract):
    pass


@pytest.mark.parametrize("verb", ["create", "write", "delete", "list"])
def test_stale_credentials_are_told_with_the_way_to_new_ones(proxy: FaultProxy, bucket: GcsBucket, verb: str) -> None:
    """Not `read`: there google-auth drops the answer's open connection on the floor when it cannot refresh."""
    proxy.always = Refuse(401)
    with pytest.raises(AccessDenied, match="run: gcloud auth application-default login"):
        ASKS[verb](bucket)
    assert len(proxy.requests) == 1


@pytest.mark.parametrize("verb", ["read", "create", "write", "list"])
def test_a_missing_bucket_is_told(proxy: FaultProxy, verb: str) -> None:
    bucket = GcsBucket(f"gs://b-{uuid4()}/prefix")
    with pytest.raises(BucketNotFound, match="no such bucket; create it: gcloud storage buckets create gs://b-"):
        ASKS[verb](bucket)
    bucket.close()


def test_once_the_bucket_was_seen_a_missing_object_costs_one_request(proxy: FaultProxy, bucket: GcsBucket) -> None:
    counts = []
    for _ in range(2):
        proxy.requests.clear()
        with pytest.raises(ObjectNotFound):
            bucket.read("nowhere")
        counts.append(len(proxy.requests))
    assert counts == [2, 1]


def test_folders_that_a_console_makes_are_left_out(name: str, bucket: GcsBucket) -> None:
    with storage.Client() as client:
        for odd in ("folder/", "a//b"):
            client.bucket(name).blob(odd).upload_from_string(b"")
    assert [stat.key for stat in bucket.list("")] == ["old"]


@pytest.mark.parametrize("url", ["gs://", "gs://b", "gs://UPPER", "gs://bucket//x", "gs://bucket/..", "file:///x"])
def test_a_url_that_makes_no_sense_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="use gs://bucket or gs://bucket/prefix"):
        GcsBucket(url)


def test_a_long_prefix_is_refused_so_that_every_key_fits() -> None:
    with pytest.raises(UsageError, match="at most 120 bytes"):
        GcsBucket("gs://bucket/" + "p" * 121)


def test_without_credentials_one_line_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STORAGE_EMULATOR_HOST", raising=False)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere.json")
    with pytest.raises(AccessDenied, match="gcloud auth application-default login"):
        GcsBucket("gs://bucket")


def test_a_program_that_just_ends_leaves_no_open_connection(proxy: FaultProxy, name: str) -> None:
    script = f"from bastion.stores.gcs import GcsBucket\nb = GcsBucket('gs://{name}')\nprint(b.read('old').data)\ndel b"
    argv = [sys.executable, "-X", "dev", "-W", "error::ResourceWarning", "-c", script]
    said = subprocess.run(argv, check=True, capture_output=True, text=True)
    assert said.stdout == "b'old'\n"
    assert "ResourceWarning" not in said.stderr
