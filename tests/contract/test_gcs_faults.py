"""The bucket of Google Cloud Storage answers rightly whatever the network and the store do to its requests."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from uuid import uuid4

import pytest
from google.cloud import storage

from bastion.buckets.gcs import GcsBucket
from bastion.errors import BastionError, BucketError, Denied, Missing, NoBucket, UsageError
from bastion.once import create_once
from tests.faultproxy import FaultProxy, Harm, Refuse

Ask = Callable[[GcsBucket], object]

ASKS: dict[str, Ask] = {
    "read": lambda bucket: bucket.read("old").data,
    "create": lambda bucket: bool(bucket.create("new", b"new")),
    "write": lambda bucket: bool(bucket.write("old", b"new")),
    "replace": lambda bucket: bool(bucket.replace("old", b"new", bucket.read("old").version)),
    "delete": lambda bucket: bucket.delete(["old"]),
    "list": lambda bucket: [stat.key for stat in bucket.list("")],
}


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
def bucket(name: str) -> Iterator[GcsBucket]:
    bucket = GcsBucket(f"gs://{name}", limit_s=20, request_s=10)
    yield bucket
    bucket.close()


@pytest.fixture
def hasty(name: str) -> Iterator[GcsBucket]:
    bucket = GcsBucket(f"gs://{name}", limit_s=2, request_s=0.3)
    yield bucket
    bucket.close()


@pytest.mark.parametrize("verb", [verb for verb in ASKS if verb != "replace"])
def test_one_call_is_one_request(proxy: FaultProxy, bucket: GcsBucket, verb: str) -> None:
    ASKS[verb](bucket)
    assert len(proxy.requests) == 1


def test_a_listing_asks_for_a_page_when_it_is_needed(proxy: FaultProxy, bucket: GcsBucket) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: bucket.write(f"many/{number:04}", b""), range(1010)))
    proxy.requests.clear()
    stats = bucket.list("many/")
    assert len(proxy.requests) == 0
    for _ in range(1000):
        next(stats)
    assert len(proxy.requests) == 1
    assert len(list(stats)) == 10
    assert len(proxy.requests) == 2


@pytest.mark.parametrize("fault", [Refuse(429), Refuse(503), Refuse(500), Refuse(408), Harm.LOSE_REQUEST])
@pytest.mark.parametrize("verb", ASKS)
def test_what_fails_for_a_moment_is_asked_again(
    proxy: FaultProxy, bucket: GcsBucket, verb: str, fault: Harm | Refuse
) -> None:
    want = {"read": b"old", "list": ["old"], "delete": None}.get(verb, True)
    proxy.faults.extend([fault] * 2)
    assert ASKS[verb](bucket) == want
    assert len(proxy.requests) >= 3


@pytest.mark.parametrize("verb", ["read", "write", "delete", "list"])
def test_a_lost_answer_is_asked_for_again(proxy: FaultProxy, bucket: GcsBucket, verb: str) -> None:
    want = {"read": b"old", "write": True, "list": ["old"], "delete": None}[verb]
    proxy.faults.append(Harm.LOSE_ANSWER)
    assert ASKS[verb](bucket) == want
    assert len(proxy.requests) == 2


@pytest.mark.parametrize("verb", ["read", "list"])
def test_half_an_answer_is_no_answer(proxy: FaultProxy, bucket: GcsBucket, verb: str) -> None:
    proxy.faults.append(Harm.CUT_ANSWER)
    assert ASKS[verb](bucket) == {"read": b"old", "list": ["old"]}[verb]
    assert len(proxy.requests) == 2


def test_a_create_whose_answer_was_lost_is_refused_by_its_own_object(proxy: FaultProxy, bucket: GcsBucket) -> None:
    proxy.faults.append(Harm.LOSE_ANSWER)
    assert bucket.create("new", b"mine") is None
    assert bucket.read("new").data == b"mine"


def test_create_once_settles_a_lost_answer_as_ours(proxy: FaultProxy, bucket: GcsBucket) -> None:
    proxy.faults.append(Harm.LOSE_ANSWER)
    once = create_once(bucket, "new", b"nonce 1")
    assert (once.mine, once.stored, once.version) == (True, b"nonce 1", bucket.read("new").version)


def test_create_once_knows_another_ones_object(proxy: FaultProxy, bucket: GcsBucket) -> None:
    version = bucket.create("new", b"nonce 2")
    proxy.faults.append(Harm.LOSE_REQUEST)
    once = create_once(bucket, "new", b"nonce 1")
    assert (once.mine, once.stored, once.version) == (False, b"nonce 2", version)


def test_a_swap_whose_answer_was_lost_is_refused_by_its_own_object(proxy: FaultProxy, bucket: GcsBucket) -> None:
    version = bucket.read("old").version
    proxy.faults.append(Harm.LOSE_ANSWER)
    assert bucket.replace("old", b"mine", version) is None
    assert bucket.read("old").data == b"mine"


def test_a_collision_is_no_answer_but_asked_again(proxy: FaultProxy, bucket: GcsBucket) -> None:
    proxy.faults.append(Refuse(409))
    assert bucket.create("new", b"mine") is not None


def test_a_silent_store_is_asked_again_after_the_requests_limit(proxy: FaultProxy, hasty: GcsBucket) -> None:
    proxy.faults.append(Harm.HANG)
    assert hasty.read("old").data == b"old"
    assert len(proxy.requests) >= 2


@pytest.mark.parametrize("fault", [Refuse(503, "the store is down"), Refuse(429), Harm.HANG, Harm.LOSE_REQUEST])
@pytest.mark.parametrize("verb", ["create", "read"])
def test_what_fails_for_long_ends_as_a_failure_with_the_key(
    proxy: FaultProxy, hasty: GcsBucket, verb: str, fault: Harm | Refuse
) -> None:
    proxy.always = fault
    with pytest.raises(BucketError, match=r"(new|old)'.*try again when the store answers") as told:
        ASKS[verb](hasty)
    assert type(told.value) is BucketError
    assert len(proxy.requests) >= 2
    assert len(str(told.value).splitlines()) == 1


def test_a_failing_store_does_not_keep_a_long_delete_going(proxy: FaultProxy, hasty: GcsBucket) -> None:
    proxy.always = Refuse(503)
    with pytest.raises(BucketError):
        hasty.delete(f"many/{number}" for number in range(1000))
    asked = {request.partition("?")[0] for request in proxy.requests}
    assert len(asked) < 200


@pytest.mark.parametrize("verb", ASKS)
def test_a_missing_right_is_told_in_the_stores_words_and_not_asked_again(
    proxy: FaultProxy, bucket: GcsBucket, verb: str
) -> None:
    proxy.always = Refuse(403, "ann@example.com does not have storage.objects.do access")
    with pytest.raises(Denied, match=r"(new|old|'').*storage\.objects\.do") as told:
        ASKS[verb](bucket)
    assert len(proxy.requests) == 1
    assert len(str(told.value).splitlines()) == 1


@pytest.mark.parametrize("verb", ["create", "write", "delete", "list"])
def test_stale_credentials_are_told_with_the_way_to_new_ones(proxy: FaultProxy, bucket: GcsBucket, verb: str) -> None:
    """Not `read`: there google-auth drops the answer's open connection on the floor when it cannot refresh."""
    proxy.always = Refuse(401)
    with pytest.raises(Denied, match="run: gcloud auth application-default login"):
        ASKS[verb](bucket)
    assert len(proxy.requests) == 1


@pytest.mark.parametrize("verb", ASKS)
def test_a_refused_request_is_a_failure_and_not_asked_again(proxy: FaultProxy, bucket: GcsBucket, verb: str) -> None:
    proxy.always = Refuse(400, "bad request")
    with pytest.raises(BucketError, match="bad request"):
        ASKS[verb](bucket)
    assert len(proxy.requests) == 1


@pytest.mark.parametrize("verb", ["read", "create", "write", "list"])
def test_a_missing_bucket_is_told(proxy: FaultProxy, verb: str) -> None:
    bucket = GcsBucket(f"gs://b-{uuid4()}/prefix")
    with pytest.raises(NoBucket, match="no such bucket; create it: gcloud storage buckets create gs://b-"):
        ASKS[verb](bucket)
    bucket.close()


def test_once_the_bucket_was_seen_a_missing_object_costs_one_request(proxy: FaultProxy, bucket: GcsBucket) -> None:
    counts = []
    for _ in range(2):
        proxy.requests.clear()
        with pytest.raises(Missing):
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
    with pytest.raises(Denied, match="gcloud auth application-default login"):
        GcsBucket("gs://bucket")


def test_bad_keys_cost_no_request(proxy: FaultProxy, bucket: GcsBucket) -> None:
    asks: list[Callable[[], object]] = [
        partial(bucket.read, ".."),
        partial(bucket.write, "", b""),
        partial(bucket.list, "../"),
    ]
    for ask in asks:
        with pytest.raises(BastionError):
            ask()
    assert proxy.requests == []


def test_a_program_that_just_ends_leaves_no_open_connection(proxy: FaultProxy, name: str) -> None:
    script = (
        f"from bastion.buckets.gcs import GcsBucket\nb = GcsBucket('gs://{name}')\nprint(b.read('old').data)\ndel b"
    )
    argv = [sys.executable, "-X", "dev", "-W", "error::ResourceWarning", "-c", script]
    said = subprocess.run(argv, check=True, capture_output=True, text=True)
    assert said.stdout == "b'old'\n"
    assert "ResourceWarning" not in said.stderr
