"""Whether a bastion is still the one: its fence closes in time, and its sign of life deposes or is deposed."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest

from bastion.journal.leadership import WINDOW_S, LeaderWindow, StatusBeat, parse, read, vacant
from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.errors import JournalEndLost, LeadershipLost
from bastion.model.stored.status import Status
from tests.support.doors import Fault, FaultyBucket, fails, loses_the_answer
from tests.support.world import NOON, HandClock


def status(epoch: int = 1, nonce: str = "n", state: str = "running", host: str = "h", **more: Any) -> Status:
    given = {"seq": 0, "capacity": {}, "problems": [], **more}
    return Status(
        name="b", state=state, epoch=epoch, nonce=nonce, pid=1, host=host, boot="boot", version="0", ticks=1,
        written=NOON, last_tick=NOON, poll_s=1.0, counts={}, **given,
    )  # fmt: skip


def test_a_fence_closes_30_s_after_the_confirmed_write_was_first_sent() -> None:
    clock = HandClock()
    window = LeaderWindow(clock)
    assert not window.may_act(), "nothing was confirmed yet"
    window.confirm(None)
    assert not window.may_act()
    window.confirm(0.0)
    clock.now = WINDOW_S
    assert window.may_act()
    clock.now = WINDOW_S + 0.1
    assert not window.may_act()


def test_an_older_confirmation_does_not_take_back_a_newer_one() -> None:
    clock = HandClock(now=50)
    window = LeaderWindow(clock)
    window.confirm(40.0)
    window.confirm(1.0)
    assert window.may_act()


def beacon(
    bucket: FaultyBucket, clock: HandClock | None = None, version: str = "", began: tuple[int, str] = (0, "")
) -> tuple[StatusBeat, LeaderWindow]:
    clock = clock or HandClock()
    window = LeaderWindow(clock)
    return StatusBeat(bucket, clock, window, version, began), window


def test_a_swap_costs_one_request_and_opens_the_fence() -> None:
    bucket = FaultyBucket()
    mine, window = beacon(bucket)
    mine.swap(status(nonce="1"))
    mine.swap(status(nonce="2"))
    assert [verb for verb, _ in bucket.calls] == ["create", "replace"]
    assert window.may_act()
    found, _ = read(bucket)
    assert found is not None
    assert found.nonce == "2"


def test_two_of_one_epoch_are_told_apart_by_who_they_are() -> None:
    """A journal that lost its end gives an epoch a second time."""
    bucket = FaultyBucket()
    first, _ = beacon(bucket)
    first.swap(status(nonce="1"))
    second, _ = beacon(bucket)
    with pytest.raises(JournalEndLost, match="pid 1 on h has epoch 1, too"):
        second.swap(status(nonce="2", host="another"))
    again, _ = beacon(bucket)
    again.swap(status(nonce="3"))


@pytest.mark.parametrize(
    ("seq", "head", "lost"), [(5, "c", True), (4, "c", True), (4, "b", False), (3, "a", False), (5, "", False)]
)
def test_what_an_earlier_epoch_wrote_is_behind_the_end_at_which_this_one_began(seq: int, head: str, lost: bool) -> None:
    """The end was lost while this one read the journal: it has begun at a number that was given."""
    bucket = FaultyBucket()
    bucket.inner.write(layout.STATUS, encode(status(epoch=1, seq=seq, head=head)))
    mine, _ = beacon(bucket, began=(4, "b"))
    with pytest.raises(JournalEndLost, match="this bastion began at object 4") if lost else nullcontext():
        mine.swap(status(epoch=2, nonce="2"))


@pytest.mark.parametrize("faults", [[fails], [loses_the_answer], [fails, loses_the_answer, fails, fails]])
@pytest.mark.parametrize("first", [True, False])
def test_a_lost_answer_is_settled_by_reading_back(faults: list[Fault], first: bool) -> None:
    bucket = FaultyBucket()
    mine, _ = beacon(bucket)
    if not first:
        mine.swap(status(nonce="before"))
    bucket.faults = list(faults)
    mine.swap(status(nonce="now"))
    found, _ = read(bucket)
    assert found is not None
    assert found.nonce == "now"
    mine.swap(status(nonce="after"))


def test_the_fence_counts_from_the_first_sending_and_no_retry_renews_it() -> None:
    bucket, clock = FaultyBucket(faults=[fails] * 40), HandClock()
    mine, window = beacon(bucket, clock)
    mine.swap(status())
    assert clock.now > WINDOW_S
    assert not window.may_act()


def test_a_larger_epoch_deposes() -> None:
    bucket = FaultyBucket()
    mine, _ = beacon(bucket)
    mine.swap(status(epoch=1))
    bucket.inner.write(layout.STATUS, encode(status(epoch=2, host="there")))
    with pytest.raises(LeadershipLost, match="epoch 2 on there"):
        mine.swap(status(epoch=1, nonce="again"))


@pytest.mark.parametrize(
    "data", [encode(status(epoch=1)), encode(status(epoch=2, nonce="late")), b"rubbish", b"", b"{}"]
)
def test_a_smaller_epoch_our_own_or_rubbish_is_written_over(data: bytes) -> None:
    bucket = FaultyBucket()
    mine, _ = beacon(bucket)
    bucket.inner.write(layout.STATUS, data)
    mine.swap(status(epoch=2))
    found, _ = read(bucket)
    assert found is not None
    assert found.epoch == 2


def test_a_status_that_was_deleted_is_written_anew() -> None:
    bucket = FaultyBucket()
    mine, _ = beacon(bucket)
    mine.swap(status(nonce="1"))
    bucket.inner.delete([layout.STATUS])
    mine.swap(status(nonce="2"))
    assert read(bucket)[0] is not None


def test_a_newer_version_of_us_is_not_written_over() -> None:
    bucket = FaultyBucket()
    mine, window = beacon(bucket)
    bucket.inner.write(layout.STATUS, b'{"schema": 3}')
    with pytest.raises(LeadershipLost, match="a newer version of Bastion took over"):
        mine.swap(status())
    assert not window.may_act()


def test_a_store_without_room_is_told_in_the_log_once(caplog: pytest.LogCaptureFixture) -> None:
    bucket = FaultyBucket()
    mine, _ = beacon(bucket)
    bucket.faults = [fails, fails]
    mine.swap(status())
    (told,) = caplog.messages
    assert told.startswith("the heartbeat, status.json, cannot be written, retrying: ")


def test_a_status_is_read_or_nobodys() -> None:
    assert parse(encode(status())) == status()
    assert parse(b"rubbish") is None
    assert read(FaultyBucket()) == (None, "")


@pytest.mark.parametrize(
    ("found", "host", "boot", "alive", "free"),
    [
        (None, "h", "boot", False, True),
        (status(state="stopped"), "elsewhere", "other", True, True),
        (status(), "h", "boot", True, False),
        (status(), "h", "boot", False, True),
        (status(), "h", "later", True, True),
        (status(), "elsewhere", "boot", False, False),
    ],
)
def test_a_place_is_vacant_only_if_nobody_can_be_at_work(
    found: Status | None, host: str, boot: str, alive: bool, free: bool
) -> None:
    assert vacant(found, host, boot, alive) is free
