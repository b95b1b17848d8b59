"""Whose a request is: the account that wrote it says so, whatever path and text say."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.errors import TooLarge
from bastion.model.interfaces import Bucket, Stat, StoredObject
from bastion.model.stored.requests import REQUEST_BYTES_MAX, Cancel, Request, Submit
from bastion.service import request_reader
from bastion.service.received_request import RequestAuthors
from bastion.stores.memory import MemoryBucket
from tests.support.doors import memory
from tests.support.world import NOON, spec

ACCOUNTS = {"root": 0, "alice": 1001, "bob": 1002, "keeper": 500}
NAMES = {number: name for name, number in ACCOUNTS.items()}
AUTHORS = RequestAuthors(own=500, number_of=ACCOUNTS.get, name_of=NAMES.__getitem__)
ID = "r" * 32


@dataclass
class Owned:
    """A bucket whose objects are all of one account."""

    owner: int | None
    inner: MemoryBucket = field(default_factory=memory)

    def read(self, key: str, limit: int | None = None) -> StoredObject:
        try:
            return replace(self.inner.read(key, limit), owner=self.owner)
        except TooLarge as error:
            error.owner = self.owner
            raise


def read(user: str, owner: int | None, data: bytes, authors: RequestAuthors = AUTHORS) -> request_reader.Letter:
    """What comes of a request in this user's name that this account wrote."""
    here, key = Owned(owner), layout.request(user, ID)
    here.inner.create(key, data)
    bucket: Bucket = here  # type: ignore[assignment]  # only read
    received = request_reader.read(bucket, Stat(key, "1", len(data), NOON), authors=authors)
    assert received is not None
    return received


def text(request: Request) -> bytes:
    return encode(request)


@pytest.mark.parametrize(
    ("user", "owner", "believed"),
    [
        ("alice", 1001, True),
        ("alice", 1002, False),
        ("root", 1002, False),
        ("nobody-here", 1002, False),
        ("alice", 0, True),  # root speaks for anybody
        ("alice", 500, True),  # and so does the account of the bastion itself: whoever has it can write the journal
        ("alice", -1, False),
        ("alice", None, True),  # the store does not tell: its own rights prove the path
    ],
)
def test_who_writes_is_who_asks(user: str, owner: int | None, believed: bool) -> None:
    authors = replace(AUTHORS, name_of=lambda number: NAMES.get(number, "somebody"))
    received = read(user, owner, text(Cancel(job="train-00000000")), authors)
    assert (received.request is not None) is believed
    if not believed:
        assert received.user == NAMES.get(owner or 0, "somebody")
        assert received.problem == (
            f"the request names the user {user}, but {received.user} wrote it; only root may act for others"
        )


def test_of_a_forged_request_nothing_is_repeated() -> None:
    received = read("alice", 1002, b'{"kind":"the password of alice"}')
    assert "password" not in received.problem


@pytest.mark.parametrize(("owner", "whose"), [(1002, "bob"), (1001, "alice"), (None, "alice")])
def test_of_a_request_that_is_too_large_the_writer_is_asked_first(owner: int | None, whose: str) -> None:
    """Whoever makes the inbox of a newcomer would have them refused, and their bytes of the day used up."""
    size = REQUEST_BYTES_MAX + 1
    received = read("alice", owner, b"x" * size)
    assert (received.user, received.size, received.request) == (whose, size, None)
    large = f"the request has {size} bytes; at most {REQUEST_BYTES_MAX} are allowed"
    assert received.problem.startswith("the request names the user alice" if whose == "bob" else large)
    assert (received.job is None) is (whose == "bob"), "it is shown as a job of its own user only"


def test_jobs_of_others_run_where_somebody_said_as_whom() -> None:
    refuses, job = replace(AUTHORS, refused="nobody said it"), text(Submit(spec=spec(user="alice")))
    assert read("alice", 1001, job, refuses).problem == "nobody said it"
    assert read("alice", 1001, text(Cancel(job="x-00000000")), refuses).problem == ""
    assert [read("alice", owner, job, refuses).problem for owner in (0, 500, None)] == ["", "", ""]
    assert read("alice", 1001, job).problem == ""


def test_a_job_needs_an_account_where_jobs_run_as_who_submits_them() -> None:
    job = text(Submit(spec=spec(user="carol")))
    received = read("carol", 0, job, replace(AUTHORS, as_submitter=True))
    assert received.problem.startswith("each job runs as its user, and this machine has no account carol")
    assert received.job is not None
