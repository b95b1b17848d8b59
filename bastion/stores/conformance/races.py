"""The promises of every bucket to many clients at once: the lock and the leadership of a bastion rest on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier, Event
from typing import TypeVar

from ...model.interfaces import Bucket
from .bench import TestStore, keys, missing, same, true

T = TypeVar("T")
_START_S, _END_S = 120.0, 300.0
_SWAPPERS = 8
_TRIES = 10  # a swap is refused only if another one succeeded, so a correct store never needs so many tries
_NEIGHBOURS = ("a", "a/b", "a/b/c", "a/b/c/d", "a/bb/c", "a/x")


def race(works: Sequence[Callable[[], T]]) -> list[T]:
    """Run each in a thread of its own, all released at one moment. Return results in order; raise the first failure."""
    start = Barrier(len(works))

    def run(work: Callable[[], T]) -> T:
        start.wait(timeout=_START_S)
        return work()

    with ThreadPoolExecutor(len(works)) as pool:
        return [future.result(timeout=_END_S) for future in [pool.submit(run, work) for work in works]]


def of_racing_creators_one_wins(stage: TestStore) -> None:
    """Of many racing creators of one object, exactly one wins, and its bytes are there."""
    racers = [stage.open() for _ in range(4)] * (stage.scale.racers // 4)
    for turn in range(stage.scale.rounds):
        key = f"race/{turn}/object"
        versions = race([partial(bucket.create, key, b"%d" % number) for number, bucket in enumerate(racers)])
        winners = [number for number, version in enumerate(versions) if version is not None]
        same(len(winners), 1, f"winners of {len(racers)} creators")
        stored = racers[0].read(key)
        same((stored.data, stored.version), (b"%d" % winners[0], versions[winners[0]]), "what is there after them")


def racing_swaps_lose_nothing(stage: TestStore) -> None:
    """Racing swaps of a counter lose nothing."""
    stage.open().create("counter", b"0")
    buckets = [stage.open() for _ in range(_SWAPPERS)]

    def count(bucket: Bucket) -> None:
        done = tries = 0
        while done < stage.scale.swaps:
            tries += 1
            true(
                tries <= _TRIES * _SWAPPERS * stage.scale.swaps,
                "swaps of the version just read are refused, again and again",
            )
            stored = bucket.read("counter")
            done += bucket.replace("counter", b"%d" % (int(stored.data) + 1), stored.version) is not None

    race([partial(count, bucket) for bucket in buckets])
    same(buckets[0].read("counter").data, b"%d" % (_SWAPPERS * stage.scale.swaps), "the counter")


def readers_see_whole_objects(stage: TestStore) -> None:
    """Readers and listings that race a writer see whole objects."""
    bucket, over = stage.open(), Event()
    sizes = [1 << 20, (1 << 20) + 77777]
    bucket.write("large", b"\0" * sizes[0])

    def write() -> None:
        try:
            for turn in range(1, stage.scale.turns):
                bucket.write("large", bytes([turn]) * sizes[turn % 2])
        finally:
            over.set()

    def read(reader: Bucket) -> None:
        looked = False
        while not looked or not over.is_set():
            looked = True
            data = reader.read("large").data
            true(data == data[:1] * sizes[data[0] % 2], f"a mixture of {len(data)} bytes was read")
            same([stat.size in sizes for stat in reader.list("large")], [True], "the listed sizes are known")

    works: list[Callable[[], None]] = [write, *(partial(read, stage.open()) for _ in range(3))]
    race(works)


def neighbours_do_not_disturb_each_other(stage: TestStore) -> None:
    """Neighbours that come and go do not disturb each other."""

    def come_and_go(bucket: Bucket, key: str) -> None:
        for turn in range(stage.scale.turns):
            true(bucket.create(key, b"%d" % turn), f"create of {key!r} was refused")
            same(bucket.create(key, b"no"), None, f"a second create of {key!r}")
            same(bucket.read(key).data, b"%d" % turn, f"what is read of {key!r}")
            bucket.delete([key])
            missing(bucket, key)

    race([partial(come_and_go, stage.open(), key) for key in _NEIGHBOURS])
    same(keys(stage.open()), [], "what is left")
