"""Tests of trust: a machine belongs to one attempt of one bastion, and a name proves nothing."""

from __future__ import annotations

from bastion.quota.resources import Resources

from ..model.interfaces import MachineExistence
from ..model.state.state import Cause
from .stage import HELLO, KEY, OTHER, SAVES, WAIT, Fleet, Stage

LARGE = 999_999_999
"""An epoch that no bastion has."""


class TrustContract:
    """Part of `RunnerContract`. `asks` are the smallest resources that a replica of one host has."""

    asks: Resources = {}

    def test_an_id_is_of_one_attempt_of_one_bastion(self, fleet: Fleet) -> None:
        stage = Stage(fleet, self.asks)
        stage.create(KEY)
        stage.create(OTHER)
        fleet.until(lambda: len(stage.machines(KEY)) == len(stage.machines(OTHER)) == 1, "two machines")
        one, other, stranger = stage.machine(KEY), stage.machine(OTHER), fleet.stranger()
        for runner in (stage.runner, fleet.again()):
            assert runner.is_of(one.id, KEY, 0)
            assert runner.is_of(other.id, OTHER, 0)
            assert not runner.is_of(one.id, OTHER, 0)
            assert not runner.is_of(other.id, KEY, 0)
        assert not stranger.is_of(one.id, KEY, 0)
        for nothing in ("", "/", "x", f"{one.id}/x", KEY.job, "17/0/dead/x", "\u0130" * 40):
            assert not stage.runner.is_of(nothing, KEY, 0), nothing

    def test_another_bastion_neither_stops_nor_deletes_nor_sees_a_machine(self, fleet: Fleet) -> None:
        stage = Stage(fleet, self.asks)
        machine = stage.running(SAVES)
        stranger = fleet.stranger()
        stranger.list()
        stranger.stop(machine.id)
        stranger.delete(machine.id)
        assert stranger.look(machine.id) is not MachineExistence.THERE
        assert stage.machines() == [machine]
        assert stage.runner.look(machine.id) is MachineExistence.THERE
        assert stage.log() == "started\n"
        stage.stop(Cause.CANCELLED, grace_s=60)
        assert stage.ended().exit_code == 9

    def test_what_only_claims_to_be_a_machine_is_in_nobodys_place(self, fleet: Fleet) -> None:
        stage = Stage(fleet, self.asks)
        if not (spoof := fleet.spoof(KEY, 0, LARGE)):
            return
        fleet.until(lambda: spoof in {machine.id for machine in stage.runner.list()}, "what claims to be ours")
        shown = {machine.id: machine for machine in stage.runner.list()}[spoof]
        assert (shown.ours, shown.key, shown.worker, shown.epoch) == (False, KEY, 0, LARGE)
        assert shown.origin
        stage.start(HELLO)
        facts = stage.ended()
        assert facts.cause is Cause.OK
        assert facts.machine != spoof
        stage.cleared()
        assert spoof in {machine.id for machine in stage.runner.list()}

    def test_a_runner_that_remembers_nothing_proves_its_own(self, fleet: Fleet) -> None:
        stage = Stage(fleet, self.asks)
        machine = stage.running(WAIT)
        stage.runner = fleet.again()
        assert [(one.id, one.ours) for one in stage.runner.list()] == [(machine.id, True)]
