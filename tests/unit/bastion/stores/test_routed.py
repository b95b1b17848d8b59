"""Three buckets as one: each key has a home, and a call asks that one only."""

from __future__ import annotations

from uuid import uuid4

import pytest

from bastion.model.errors import ObjectNotFound
from bastion.model.interfaces import Bucket
from bastion.model.layout import LOGS, OUTPUTS
from bastion.stores.counting import CountingBucket
from bastion.stores.memory import MemoryBucket
from bastion.stores.opening import housed
from bastion.stores.routed import RoutedBucket, url_of

PRIVATE = ["config.toml", "inbox/ann/1.json", "journal/0", "beats/x", "watch/j/0", "claims/x", "status.json", "logsx"]
PERMANENT = ["logs/j/0/0/0/1.log", "outputs/j/0/x", "bastion-log/1/0.log"]
TTL = ["bundles/abc.tar.zst"]


class Trio:
    def __init__(self) -> None:
        name = uuid4()
        self.stores = {at: CountingBucket(MemoryBucket(f"memory://{name}/{at}")) for at in ("p", "permanent", "ttl")}
        self.opened: list[str] = []
        urls = {at: self.stores[at].url for at in ("permanent", "ttl")}
        self.bucket = RoutedBucket(self.stores["p"], urls, self.open)

    def open(self, url: str) -> Bucket:
        self.opened.append(url)
        return next(store for store in self.stores.values() if store.url == url)

    def requests(self) -> dict[str, int]:
        return {at: store.counts.total() for at, store in self.stores.items()}


@pytest.fixture
def trio() -> Trio:
    return Trio()


@pytest.mark.parametrize(("at", "keys"), [("p", PRIVATE), ("permanent", PERMANENT), ("ttl", TTL)])
def test_every_method_asks_the_home_of_its_key_and_nobody_else(trio: Trio, at: str, keys: list[str]) -> None:
    for key in keys:
        version = trio.bucket.create(key, b"1")
        assert trio.bucket.replace(key, b"2", str(version))
        trio.bucket.write(key, b"3")
        assert trio.bucket.read(key).data == b"3"
        assert [stat.key for stat in trio.stores[at].list("") if stat.key == key] == [key]
        trio.bucket.delete([key])
        with pytest.raises(ObjectNotFound):
            trio.bucket.read(key)
    assert {name for name, asked in trio.requests().items() if asked} == {at}


def test_a_listing_of_one_folder_is_one_request(trio: Trio) -> None:
    for key in PERMANENT + PRIVATE + TTL:
        trio.bucket.write(key, b"")
    before = trio.requests()
    assert [stat.key for stat in trio.bucket.list("logs/")] == [PERMANENT[0]]
    assert sum(trio.requests().values()) - sum(before.values()) == 1


def test_a_listing_of_everything_is_in_one_order(trio: Trio) -> None:
    for key in PERMANENT + PRIVATE + TTL:
        trio.bucket.write(key, b"")
    everything = sorted(PERMANENT + PRIVATE + TTL)
    assert [stat.key for stat in trio.bucket.list("")] == everything
    assert [stat.key for stat in trio.bucket.list("", after="config.toml")] == everything[
        everything.index("inbox/ann/1.json") :
    ]
    assert [stat.key for stat in trio.bucket.list("logs")] == ["logs/j/0/0/0/1.log", "logsx"]


def test_what_lies_where_it_has_no_home_is_left_out(trio: Trio) -> None:
    trio.stores["p"].write("logs/old", b"")
    trio.stores["ttl"].write("journal/0", b"")
    assert [stat.key for stat in trio.bucket.list("")] == []


def test_a_delete_of_all_goes_to_all(trio: Trio) -> None:
    for key in PERMANENT + PRIVATE + TTL:
        trio.bucket.write(key, b"")
    trio.bucket.delete(PERMANENT + PRIVATE + TTL)
    assert list(trio.bucket.list("")) == []


def test_another_bucket_is_opened_when_it_is_needed_and_once(trio: Trio) -> None:
    trio.bucket.write("journal/0", b"")
    assert trio.opened == []
    for key in PERMANENT:
        trio.bucket.write(key, b"")
    assert trio.opened == [trio.stores["permanent"].url]


def test_the_url_of_a_place_is_that_of_its_home(trio: Trio) -> None:
    assert url_of(trio.bucket, OUTPUTS) == url_of(trio.bucket, LOGS) == trio.stores["permanent"].url
    assert url_of(trio.bucket, "journal/") == trio.bucket.url == trio.stores["p"].url
    assert url_of(trio.stores["p"], LOGS) == trio.stores["p"].url


def test_a_bastion_of_one_bucket_is_not_routed() -> None:
    part = MemoryBucket("memory://x")
    assert housed(part, {}) is part
