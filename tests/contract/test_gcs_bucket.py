"""The bucket of Google Cloud Storage keeps the promises of every bucket, against a real server of its protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest
from google.cloud import storage

from bastion.buckets.gcs import GcsBucket
from bastion.ports import Bucket
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
