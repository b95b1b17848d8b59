"""What every bucket promises: subclass `BucketContract` and give it the fixture `opened`."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import sha256
from threading import Event

import pytest

from bastion.errors import BastionError, BucketError, Missing
from bastion.ports import Bucket
from tests.race import race

ODD_KEYS = [
    "a b/c d",
    "quotes'\"`$(x)",
    "ümlaut/日本/😀",
    "50%25%2F%",
    "a#b?c=d&e;f+g*[h]{i}|\\",
    "~/-rf",
    ".hidden/..dots/...",
    "draft.tmp",
    "x%object",
    "x%part/y%object%part",
    "%private/lock",
    "CON/nul",
    "p" * 240,
    "/".join(["é" * 120] * 3 + ["k" * 177]),
    "/".join(["d"] * 450),
]
BAD_KEYS = ["", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "./a", "a\nb", "a\x00", "\x7f", "\ud800"]
BAD_KEYS += ["k" * 901, "p" * 241, "é" * 121]
BAD_PREFIXES = ["/", "../", "a/../b", "a//", "a\n", "\ud800", "k" * 901]


class BucketContract:
    rewrites = 100
    """How many writes of the same bytes must all give other versions."""

    @pytest.fixture
    def opened(self) -> Callable[[], Bucket]:
        """Opens one store, empty at first, again with each call."""
        raise NotImplementedError

    @pytest.fixture
    def bucket(self, opened: Callable[[], Bucket]) -> Bucket:
        return opened()

    def test_what_was_created_is_read_back_with_its_version(self, bucket: Bucket) -> None:
        version = bucket.create("a/b.json", b"one")
        assert version
        stored = bucket.read("a/b.json")
        assert (stored.data, stored.version) == (b"one", version)

    def test_create_refuses_a_taken_key_and_changes_nothing(self, bucket: Bucket) -> None:
        version = bucket.create("a", b"one")
        assert bucket.create("a", b"two") is None
        assert bucket.create("a", b"one") is None
        assert (bucket.read("a").data, bucket.read("a").version) == (b"one", version)

    def test_the_other_opener_of_a_store_sees_it_at_once(self, opened: Callable[[], Bucket]) -> None:
        one, two = opened(), opened()
        one.write("a", b"1")
        assert two.read("a").data == b"1"
        assert two.create("a", b"2") is None

    def test_replace_wants_the_version_that_is_there(self, bucket: Bucket) -> None:
        first = bucket.write("a", b"1")
        second = bucket.replace("a", b"2", first)
        assert second
        assert second != first
        assert bucket.replace("a", b"3", first) is None
        assert (bucket.read("a").data, bucket.read("a").version) == (b"2", second)

    @pytest.mark.parametrize("version", ["", "0", "-1", "1", "no version", "9" * 30])
    def test_replace_with_a_version_that_never_was_is_refused(self, bucket: Bucket, version: str) -> None:
        assert bucket.replace("a", b"1", version) is None
        bucket.write("b", b"1")
        assert bucket.replace("a", b"1", version) is None
        with pytest.raises(Missing):
            bucket.read("a")

    def test_replace_of_a_deleted_object_is_refused_also_once_it_is_there_again(self, bucket: Bucket) -> None:
        version = bucket.write("a", b"1")
        bucket.delete(["a"])
        assert bucket.replace("a", b"2", version) is None
        bucket.create("a", b"1")
        assert bucket.replace("a", b"2", version) is None
        assert bucket.read("a").data == b"1"

    def test_write_overwrites_whatever_is_there(self, bucket: Bucket) -> None:
        bucket.create("a", b"a long first text")
        version = bucket.write("a", b"2")
        assert (bucket.read("a").data, bucket.read("a").version) == (b"2", version)

    def test_each_write_of_the_same_bytes_gives_a_new_version(self, bucket: Bucket) -> None:
        versions = [bucket.write("a", b"same") for _ in range(self.rewrites)]
        assert len(set(versions)) == self.rewrites

    def test_each_create_after_a_delete_gives_a_new_version(self, bucket: Bucket) -> None:
        versions = []
        for _ in range(self.rewrites):
            versions.append(bucket.create("a", b"same"))
            bucket.delete(["a"])
        assert len(set(versions)) == self.rewrites
        assert None not in versions

    def test_a_missing_object_is_missing_and_not_a_failure(self, bucket: Bucket) -> None:
        bucket.write("there/too", b"")
        for key in ("nowhere", "there", "there/too/deep", "p" * 240):
            with pytest.raises(Missing) as told:
                bucket.read(key)
            assert not isinstance(told.value, BucketError)

    def test_delete_removes_what_is_there_and_minds_nothing_else(self, bucket: Bucket) -> None:
        for number in range(50):
            bucket.write(f"d/{number:02}", b"")
        bucket.delete(f"d/{number:02}" for number in range(60) if number != 7)
        bucket.delete(["d", "d/08/x", "d/08"])
        bucket.delete([])
        assert [stat.key for stat in bucket.list("")] == ["d/07"]

    def test_a_listing_shows_key_version_and_size_in_order_of_utf8(self, bucket: Bucket) -> None:
        keys = ["a", "a b", "a!/x", "a-b", "a.txt", "a/b", "a/b/c", "a0", "b", "ü", "\uff5e", "😀"]
        versions = {key: bucket.write(key, key.encode()) for key in reversed(keys)}
        stats = list(bucket.list(""))
        assert [stat.key for stat in stats] == sorted(keys, key=str.encode)
        assert {stat.key: stat.version for stat in stats} == versions
        assert all(stat.size == len(stat.key.encode()) for stat in stats)
        assert all(stat.modified.tzinfo for stat in stats)

    def test_every_prefix_and_after_give_exactly_the_keys_between(self, bucket: Bucket) -> None:
        keys = ["a", "a/b", "a/b/c", "a/bc", "a0", "ab/c", "b.x/y", "b/x", "b/y/z", "bb"]
        for key in keys:
            bucket.write(key, b"")
        prefixes = ["", "a", "a/", "a/b", "a/b/", "ab", "b", "b/", "b/y/z", "c", "nowhere/", "a/b/c/d/"]
        afters = ["", "a", "a/", "a/b", "a/b0", "a/z", "b", "b/x", "b/y", "zzz", "a\uffff"]
        for prefix, after in itertools.product(prefixes, afters):
            want = [key for key in sorted(keys) if key.startswith(prefix) and key > after]
            assert [stat.key for stat in bucket.list(prefix, after=after)] == want, (prefix, after)

    def test_an_empty_bucket_lists_nothing(self, bucket: Bucket) -> None:
        assert list(bucket.list("")) == []

    @pytest.mark.parametrize("order", list(itertools.permutations(["a", "a/b", "a/b/c"])))
    def test_an_object_and_a_folder_may_have_one_name(self, bucket: Bucket, order: tuple[str, ...]) -> None:
        versions = {key: bucket.create(key, key.encode()) for key in order}
        assert None not in versions.values()
        assert [bucket.create(key, b"again") for key in order] == [None] * 3
        assert {stat.key: stat.version for stat in bucket.list("")} == versions
        for key in order:
            assert bucket.read(key).data == key.encode()
            assert bucket.replace(key, b"new", str(versions[key]))
            bucket.delete([key])
            assert bucket.create(key, b"back")
            assert bucket.write(key, b"last")
        assert [bucket.read(key).data for key in order] == [b"last"] * 3
        bucket.delete(order[:2])
        assert [stat.key for stat in bucket.list("a")] == [order[2]]
        assert bucket.create(order[2], b"") is None

    @pytest.mark.parametrize("key", ODD_KEYS)
    def test_odd_keys_work_everywhere(self, bucket: Bucket, key: str) -> None:
        version = bucket.create(key, b"1")
        assert version
        assert bucket.create(key, b"2") is None
        assert [stat.key for stat in bucket.list("")] == [key]
        assert [stat.key for stat in bucket.list(key)] == [key]
        assert bucket.replace(key, b"3", version)
        assert bucket.read(key).data == b"3"
        bucket.delete([key])
        assert list(bucket.list("")) == []

    @pytest.mark.parametrize("key", BAD_KEYS)
    def test_bad_keys_are_refused_by_every_method(self, bucket: Bucket, key: str) -> None:
        calls: list[Callable[[], object]] = [
            partial(bucket.read, key),
            partial(bucket.create, key, b""),
            partial(bucket.write, key, b""),
            partial(bucket.replace, key, b"", "1"),
            partial(bucket.delete, [key]),
        ]
        for call in calls:
            with pytest.raises(BastionError, match="key is") as told:
                call()
            assert len(str(told.value).splitlines()) == 1
        assert list(bucket.list("")) == []

    @pytest.mark.parametrize("prefix", BAD_PREFIXES)
    def test_bad_prefixes_are_refused_when_the_listing_is_asked_for(self, bucket: Bucket, prefix: str) -> None:
        with pytest.raises(BastionError, match="prefix is"):
            bucket.list(prefix)

    def test_one_bad_key_among_those_to_delete_deletes_nothing(self, bucket: Bucket) -> None:
        bucket.write("a", b"")
        with pytest.raises(BastionError):
            bucket.delete(["a", "../a"])
        assert bucket.read("a").data == b""

    def test_an_object_of_no_bytes_is_an_object(self, bucket: Bucket) -> None:
        version = bucket.create("empty", b"")
        assert version
        assert bucket.create("empty", b"") is None
        assert (bucket.read("empty").data, [stat.size for stat in bucket.list("")]) == (b"", [0])

    def test_an_object_of_64_mib_comes_back_whole(self, bucket: Bucket) -> None:
        data = b"".join(sha256(b"%d" % block).digest() * 32768 for block in range(64))
        version = bucket.create("big", data)
        stored = bucket.read("big")
        assert sha256(stored.data).digest() == sha256(data).digest()
        assert [(stat.size, stat.version) for stat in bucket.list("big")] == [(64 << 20, version)]

    def test_3000_objects_are_listed_over_several_pages_in_order(self, bucket: Bucket) -> None:
        keys = [f"many/{number:04}" for number in range(3000)]
        with ThreadPoolExecutor(4) as pool:
            assert all(pool.map(lambda key: bucket.create(key, b"x"), reversed(keys)))
        assert [stat.key for stat in bucket.list("many/")] == keys
        for start in (0, 998, 999, 1000, 1499, 2998, 2999):
            assert [stat.key for stat in bucket.list("many/", after=keys[start])] == keys[start + 1 :]
        assert next(bucket.list("", after=keys[2000])).key == keys[2001]

    def test_of_32_racing_creators_exactly_one_wins(self, opened: Callable[[], Bucket]) -> None:
        buckets = [opened() for _ in range(4)] * 8
        for turn in range(5):
            key = f"race/{turn}/object"
            works = [partial(bucket.create, key, b"%d" % number) for number, bucket in enumerate(buckets)]
            versions = race(works)
            winners = [number for number, version in enumerate(versions) if version is not None]
            assert len(winners) == 1
            stored = buckets[0].read(key)
            assert (stored.data, stored.version) == (b"%d" % winners[0], versions[winners[0]])

    def test_racing_swaps_of_a_counter_lose_nothing(self, opened: Callable[[], Bucket]) -> None:
        opened().create("counter", b"0")
        buckets = [opened() for _ in range(8)]

        def count(bucket: Bucket) -> None:
            done = 0
            while done < 10:
                stored = bucket.read("counter")
                done += bucket.replace("counter", b"%d" % (int(stored.data) + 1), stored.version) is not None

        race([partial(count, bucket) for bucket in buckets])
        assert buckets[0].read("counter").data == b"80"

    def test_readers_and_listings_that_race_a_writer_see_whole_objects(self, opened: Callable[[], Bucket]) -> None:
        bucket, over = opened(), Event()
        sizes = [1 << 20, (1 << 20) + 77777]
        bucket.write("large", b"\0" * sizes[0])

        def write() -> int:
            try:
                for turn in range(1, 25):
                    bucket.write("large", bytes([turn]) * sizes[turn % 2])
            finally:
                over.set()
            return 0

        def read(reader: Bucket) -> int:
            reads = 0
            while not over.is_set() or not reads:
                data = reader.read("large").data
                assert data == data[:1] * sizes[data[0] % 2]
                assert [stat.size in sizes for stat in reader.list("large")] == [True]
                reads += 1
            return reads

        works: list[Callable[[], int]] = [write, *(partial(read, opened()) for _ in range(3))]
        race(works)

    def test_neighbours_that_come_and_go_do_not_disturb_each_other(self, opened: Callable[[], Bucket]) -> None:
        def come_and_go(bucket: Bucket, key: str) -> None:
            for turn in range(20):
                assert bucket.create(key, b"%d" % turn)
                assert bucket.create(key, b"no") is None
                assert bucket.read(key).data == b"%d" % turn
                bucket.delete([key])
                with pytest.raises(Missing):
                    bucket.read(key)

        keys = ["a", "a/b", "a/b/c", "a/b/c/d", "a/bb/c", "a/x"]
        race([partial(come_and_go, opened(), key) for key in keys])
        assert list(opened().list("")) == []
