"""The bucket of Google Cloud Storage keeps the promises of every bucket, against a real server of its protocol."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest
from google.cloud import storage

from bastion.model.interfaces import Bucket
from bastion.stores.gcs import GcsBucket
from tests.contract.bucket_contract import BucketContract


class TestGcsBucket(BucketContract):
    @pytest.fixture
    def opened(self, gcs_address: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Bucket]]:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", gcs_address)
        name, buckets = f"b-{uuid4()}", []
        with storage.Client() as client:
            client.create_bucket(name)
            client.bucket(name).blob("another/prefix").upload_from_string(b"not ours")

        def open_again() -> Bucket:
            buckets.append(GcsBucket(f"gs://{name}/some/pre fix/"))
            return buckets[-1]

        yield open_again
        for bucket in buckets:
            bucket.close()


def test_an_object_that_was_stored_with_gzip_is_read_as_it_was_stored(
    gcs_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other tools store so. Unpacked on the way, it would have other bytes than the store's size and digest tell."""
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", gcs_address)
    name, packed = f"b-{uuid4()}", gzip.compress(b"plain" * 100)
    with storage.Client() as client:
        client.create_bucket(name)
        blob = client.bucket(name).blob("key")
        blob.content_encoding = "gzip"
        blob.upload_from_string(packed)
    bucket = GcsBucket(f"gs://{name}")
    assert bucket.read("key").data == packed
    bucket.close()
