"""A listing that is taken while somebody writes may show the later of two requests alone: they keep their order."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bastion.model import layout
from bastion.model.errors import BucketError
from bastion.model.interfaces import Stat
from bastion.model.stored.events import Held, Paused, Released, Resumed
from bastion.model.stored.requests import AboutAll, AboutJob, Hold, Pause, Release, Resume
from bastion.platform.system import RandomIds
from bastion.stores.memory import MemoryBucket
from tests.support.town import Town

ADMINS = (layout.CONFIG, 'admins = ["alice"]\npoll = 1\n')


class Torn(MemoryBucket):
    """The next listing of the inbox leaves out `hidden`; the one after that is answered if `good`."""

    hidden: frozenset[str] = frozenset()
    good = True

    def list(self, prefix: str, *, after: str = "") -> Iterator[Stat]:
        """As it is, or torn."""
        if prefix != layout.INBOX:
            return super().list(prefix, after=after)
        if not self.hidden and not self.good:
            self.good = True
            raise BucketError("the store is away")
        hidden, self.hidden = self.hidden, frozenset()
        return (stat for stat in super().list(prefix, after=after) if stat.key not in hidden)


def heeded(town: Town) -> list[str]:
    return [type(event).__name__ for event in town.journal() if isinstance(event, Held | Released | Paused | Resumed)]


@pytest.mark.parametrize("good", [True, False], ids=["good", "away"])
@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ((Hold(job="?"), Release(job="?")), ["Held", "Released"]),
        ((Release(job="?"), Hold(job="?")), ["Released", "Held"]),
        ((Pause(), Resume()), ["Paused", "Resumed"]),
        ((Resume(), Pause()), ["Resumed", "Paused"]),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else "",
)
def test_what_was_asked_first_is_heeded_first(
    asked: tuple[AboutJob | AboutAll, ...], names: list[str], good: bool
) -> None:
    store = Torn(f"memory://{RandomIds().new()}")
    town = Town(ADMINS, bucket=store)
    job = town.submits()
    town.asks(Hold(job=job))
    town.ticks()
    keys = [town.asks(type(each)(**({"job": job} if hasattr(each, "job") else {}))) for each in asked]
    store.hidden, store.good = frozenset(keys[:1]), good
    town.ticks(1 if good else 3)
    assert heeded(town) == ["Held", *names]


def test_a_listing_without_such_requests_is_asked_for_once() -> None:
    town = Town(ADMINS)
    town.submits()
    town.bucket.calls.clear()
    town.ticks()
    assert [call for call in town.bucket.calls if call[0] == "list" and call[1] == layout.INBOX] == [
        ("list", layout.INBOX)
    ]
