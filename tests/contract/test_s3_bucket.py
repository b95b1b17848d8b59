"""The bucket of S3 keeps the promises of every bucket, against a real server of its protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from uuid import uuid4

import boto3
import pytest

from bastion.model.interfaces import Bucket
from bastion.stores.s3 import S3Bucket
from tests.contract.bucket_contract import BucketContract


class TestS3Bucket(BucketContract):
    @pytest.fixture
    def opened(self, s3_environ: Mapping[str, str]) -> Iterator[Callable[[], Bucket]]:
        name, buckets = f"b-{uuid4()}", []
        boto3.client("s3", endpoint_url=s3_environ["AWS_ENDPOINT_URL"]).create_bucket(Bucket=name)

        def open_again() -> Bucket:
            buckets.append(S3Bucket(f"s3://{name}/some/pre fix/"))
            return buckets[-1]

        yield open_again
        for bucket in buckets:
            bucket.close()
