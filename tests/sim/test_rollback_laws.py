"""Law 21: when the end of the journal counts as lost, and when as put back."""

from __future__ import annotations

import pytest

from bastion.model import layout
from bastion.model.stored.events import LossAccepted
from tests.simulation.laws.rollback import SILENT_S, RollbackLaws
from tests.simulation.parts.broken import Broken

FIRST, NEWEST = layout.journal(0), layout.journal(1)
LOST = {FIRST: b"first", NEWEST: b"newest"}


def lost() -> RollbackLaws:
    """A bastion of pid 0 does a turn at each second; at 10 s the journal loses both of its objects."""
    laws = RollbackLaws()
    for second in range(11):
        laws.works(1, 0, float(second))
    laws.loses(10.0, 1, LOST)
    return laws


def work_on(laws: RollbackLaws) -> None:
    for second in range(11, 20 + int(SILENT_S)):
        laws.works(1, 0, float(second))


def test_nobody_works_on_after_the_end_was_lost() -> None:
    with pytest.raises(Broken, match="works on 151 s after the end"):
        work_on(lost())


def test_a_late_write_that_puts_back_the_newest_object_puts_back_the_end() -> None:
    laws = lost()
    laws.written(NEWEST, b"newest", (), 12.0)
    work_on(laws)
    assert not laws.open


def test_a_late_write_resumes_nothing_after_an_admin_accepted_the_loss() -> None:
    laws = lost()
    laws.written(layout.journal(2), b"", [LossAccepted(user="root", first=0, last=1)], 11.0)
    laws.written(NEWEST, b"newest", (), 12.0)
    assert laws.accepted_at == 11.0
    assert laws.resumed_at is None


@pytest.mark.parametrize(("key", "data"), [(FIRST, b"first"), (NEWEST, b"other")])
def test_an_older_object_or_another_in_its_place_does_not(key: str, data: bytes) -> None:
    laws = lost()
    laws.written(key, data, (), 12.0)
    with pytest.raises(Broken, match="works on"):
        work_on(laws)
