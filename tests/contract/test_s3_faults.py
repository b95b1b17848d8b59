"""The bucket of S3 answers rightly whatever the network and the store do to its requests."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any
from uuid import uuid4

import boto3
import pytest

from bastion.model.errors import AccessDenied, BucketError, BucketNotFound, ObjectNotFound, UsageError
from bastion.stores.s3 import S3Bucket
from tests.contract.fault_contract import ASKS, FaultContract
from tests.support.faultproxy import FaultProxy, Refuse, s3


@pytest.fixture
def other(s3_environ: Mapping[str, str]) -> Any:
    """Another hand than ours: Amazon's own client, past the proxy."""
    return boto3.client("s3", endpoint_url=s3_environ["AWS_ENDPOINT_URL"])


@pytest.fixture
def proxy(s3_environ: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultProxy]:
    with FaultProxy(s3_environ["AWS_ENDPOINT_URL"], saying=s3) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
        yield proxy


@pytest.fixture
def name(other: Any, proxy: FaultProxy) -> str:
    name = f"b-{uuid4()}"
    other.create_bucket(Bucket=name)
    other.put_object(Bucket=name, Key="old", Body=b"old")
    return name


@pytest.fixture
def opens(name: str) -> partial[S3Bucket]:
    return partial(S3Bucket, f"s3://{name}")


class TestS3Faults(FaultContract):
    pass


@pytest.mark.parametrize("verb", ASKS)
def test_stale_credentials_are_told_with_the_way_to_new_ones(proxy: FaultProxy, bucket: S3Bucket, verb: str) -> None:
    proxy.always = Refuse(401)
    with pytest.raises(AccessDenied, match="renew your credentials: aws configure, or aws sso login"):
        ASKS[verb](bucket)
    assert len(proxy.requests) == 1


@pytest.mark.parametrize("verb", ASKS)
def test_a_missing_bucket_is_told(proxy: FaultProxy, verb: str) -> None:
    bucket = S3Bucket(f"s3://b-{uuid4()}/prefix")
    with pytest.raises(BucketNotFound, match="no such bucket; create it: aws s3 mb s3://b-"):
        ASKS[verb](bucket)
    bucket.close()


def test_a_missing_object_costs_one_request(proxy: FaultProxy, bucket: S3Bucket) -> None:
    with pytest.raises(ObjectNotFound):
        bucket.read("nowhere")
    assert len(proxy.requests) == 1


def test_a_thousand_objects_go_with_one_request(proxy: FaultProxy, bucket: S3Bucket) -> None:
    bucket.delete(f"many/{number}" for number in range(1001))
    assert len(proxy.requests) == 2


def test_another_hands_object_is_read_as_it_is_and_can_be_swapped(name: str, bucket: S3Bucket) -> None:
    assert bucket.read("old").data == b"old"
    assert [stat.size for stat in bucket.list("")] == [3]
    assert bucket.replace("old", b"new", bucket.read("old").version)
    assert bucket.read("old").data == b"new"


def test_a_swap_is_not_fooled_by_the_same_bytes_again(bucket: S3Bucket) -> None:
    """An ETag is a hash of the content: A, then B, then A again must be another version of A."""
    first = bucket.write("a", b"A")
    bucket.write("a", b"B")
    bucket.write("a", b"A")
    assert bucket.replace("a", b"C", first) is None
    assert bucket.read("a").data == b"A"


@pytest.mark.parametrize("version", ["*", '"', "a b", "ü", "", 'x", "y', "1" * 129])
def test_a_version_that_is_no_etag_costs_no_request(proxy: FaultProxy, bucket: S3Bucket, version: str) -> None:
    assert bucket.replace("old", b"new", version) is None
    assert proxy.requests == []


def test_what_was_stored_stays_readable_to_other_tools(other: Any, name: str, bucket: S3Bucket) -> None:
    bucket.create("a.json", b'{"a": 1}')
    stored = other.get_object(Bucket=name, Key="a.json")["Body"].read()
    assert stored.startswith(b'{"a": 1}')
    assert stored[8:].strip(b" \t") == b""


def test_folders_that_a_console_makes_are_left_out(other: Any, name: str, bucket: S3Bucket) -> None:
    other.put_object(Bucket=name, Key="folder/", Body=b"")
    assert [stat.key for stat in bucket.list("")] == ["old"]


@pytest.mark.parametrize("url", ["s3://", "s3://b", "s3://UPPER", "s3://bucket//x", "s3://bucket/..", "file:///x"])
def test_a_url_that_makes_no_sense_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="use s3://bucket or s3://bucket/prefix"):
        S3Bucket(url)


def test_a_long_prefix_is_refused_so_that_every_key_fits() -> None:
    with pytest.raises(UsageError, match="at most 120 bytes"):
        S3Bucket("s3://bucket/" + "p" * 121)


def test_without_credentials_one_line_says_what_to_do(bucket: S3Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(variable)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    poor = S3Bucket(bucket.url)
    with pytest.raises(AccessDenied, match="run: aws configure, or aws sso login"):
        poor.read("old")
    poor.close()


def test_a_profile_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(UsageError, match=r"nobody.*check the settings of AWS"):
        S3Bucket("s3://bucket")


def test_without_the_package_the_way_to_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(UsageError, match=r'pip install "bastion-scheduler\[s3\]"'):
        S3Bucket("s3://bucket")


def test_one_object_of_many_that_may_not_be_deleted_is_a_missing_right(
    bucket: S3Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def answer(**_: object) -> object:
        return {"Errors": [{"Key": "old", "Code": "AccessDenied", "Message": "not yours"}]}

    monkeypatch.setattr(bucket._client, "delete_objects", answer)
    with pytest.raises(AccessDenied, match="not yours"):
        bucket.delete(["old", "new"])


def test_a_store_that_fails_is_a_failure_and_no_answer(proxy: FaultProxy, hasty: S3Bucket) -> None:
    proxy.always = Refuse(500)
    with pytest.raises(BucketError) as told:
        hasty.create("new", b"")
    assert type(told.value) is BucketError


def test_a_program_that_just_ends_leaves_no_open_connection(proxy: FaultProxy, name: str) -> None:
    script = f"from bastion.stores.s3 import S3Bucket\nb = S3Bucket('s3://{name}')\nprint(b.read('old').data)\ndel b"
    argv = [sys.executable, "-X", "dev", "-W", "error::ResourceWarning", "-c", script]
    said = subprocess.run(argv, check=True, capture_output=True, text=True)
    assert said.stdout == "b'old'\n"
    assert "ResourceWarning" not in said.stderr
    assert "Unclosed" not in said.stderr
