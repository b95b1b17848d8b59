"""`bastion delete --force` waits for the ends of all jobs, and says what may keep them from it."""

from __future__ import annotations

import pytest

from bastion.cli.bastion.delete import cancel_all
from bastion.cli.common.place import BastionPlace
from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.errors import BastionError
from bastion.model.stored.status import Status
from bastion.platform.system import RandomIds
from tests.support.world import NOON, World

PROBLEM = "claims/train-12345678/0/0/0 cannot be used"


def test_who_waits_for_long_is_told_each_problem_once() -> None:
    world, told = World(), list[str]()
    job = world.submitted(name="train")

    def shows(state: str) -> None:
        status = Status(
            name="b", state=state, epoch=1, nonce="n", pid=1, host="elsewhere", boot="boot", version="0", seq=0, ticks=1,
            written=NOON, last_tick=NOON, poll_s=1.0, counts={}, capacity={}, problems=[PROBLEM],
        )  # fmt: skip
        world.bucket.write(layout.STATUS, encode(status))

    shows("running")
    world.clock.script = [lambda: None] * 900 + [lambda: shows("stopped")]
    with pytest.raises(BastionError, match="is stopped, and 1 jobs have not ended"):
        cancel_all(
            BastionPlace("b", world.bucket, world.bucket), world.reader(), "root", world.clock, RandomIds(), told.append
        )
    assert told == [f"1 jobs have not ended; the bastion says: {PROBLEM}"], job
    assert len(list(world.bucket.list(layout.INBOX))) == 1, "each job is cancelled once"
