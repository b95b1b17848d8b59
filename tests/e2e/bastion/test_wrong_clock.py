"""A clock that is days off begins nothing; and a journal that was poisoned by one is brought back by an admin."""

from __future__ import annotations

import sys
from datetime import timedelta

from bastion.journal import recover
from bastion.journal.journal import Journal
from bastion.model.stored.events import Epoch, RequestsDropped
from bastion.platform.system import RandomIds, SystemClock
from bastion.stores.local import LocalBucket
from bastion.stores.opening import PrefixedBucket
from tests.support.fleet import Fleet, until

AHEAD = """
import sys
from datetime import timedelta
from bastion.platform import system
from bastion.__main__ import bastion
right = system.SystemClock.wall
system.SystemClock.wall = lambda self: right(self) + timedelta(days=3)
sys.argv = ["bastion", *sys.argv[1:]]
sys.exit(bastion())
"""


def test_a_bastion_whose_clock_is_three_days_ahead_stands_by_and_says_so(fleet: Fleet) -> None:
    fleet.create()
    later = fleet.submit("later", "--begin=+2h", run="true")
    assert fleet.run("bastion", "stop").returncode == 0
    fleet.tools = fleet.folder / "tools"
    fleet.tools.mkdir()
    script = fleet.tools / "bastion"
    script.write_text(f"#!{sys.executable}\n{AHEAD}")
    script.chmod(0o755)
    with fleet.running("bastion", "start"):
        fleet.tools = type(fleet)(fleet.folder, fleet.bucket).tools
        until(lambda: any("stands by: the clock of this machine is" in text for text in fleet.problems()))
        assert len(fleet.events("Epoch")) == 1
    assert fleet.events("Started") == []
    fleet.create()
    assert fleet.job(later)["state"] == "PENDING"


def test_a_poisoned_journal_is_healed_by_an_admin(fleet: Fleet) -> None:
    fleet.create()
    assert fleet.run("bastion", "stop").returncode == 0
    bucket = PrefixedBucket(LocalBucket(f"file://{fleet.bucket}"), "demo")
    journal = Journal(bucket, SystemClock(), RandomIds(), state := recover.load(bucket))
    journal.begin(SystemClock().wall() + timedelta(days=3))
    journal.epoch = state.epoch + 1
    journal.add(Epoch(epoch=journal.epoch, host="there", pid=1, version="0.1.0"))
    journal.add(RequestsDropped(user="eve", count=1, reason="too many"))
    journal.commit()
    doctor = fleet.run("bastion", "doctor")
    assert "failed   clock: the journal's time is " in doctor.stdout, doctor
    assert "bastion recover --heal_time" in doctor.stdout
    with fleet.running("bastion", "start"):
        until(lambda: any("stands by: the journal's time is" in text for text in fleet.problems()))
    healed = fleet.run("bastion", "recover", "--heal_time", "--yes")
    assert healed.returncode == 0, healed
    assert "the time is corrected" in healed.stdout
    again = fleet.run("bastion", "recover", "--heal_time", "--yes")
    assert "there is nothing to do" in again.stdout, again
    fleet.create()
    assert fleet.wait(fleet.submit("next", run="true")) == 0
    assert fleet.run("bastion", "usage").returncode == 0
