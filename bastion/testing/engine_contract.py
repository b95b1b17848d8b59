"""Tests of a runner's backend: it may be away, lose an answer, forget, and serve other bastions as well."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from bastion.quota.resources import Resources

from ..model.errors import RunnerError
from ..model.interfaces import AttemptKey, MachineExistence
from ..model.state.state import Cause
from .stage import HELLO, KEY, OTHER, SAVES, WAIT, Fleet, Stage

ASKED_MOST = 3
"""The most requests that one pass may take, however many attempts there are."""


class EngineContract:
    """Part of `RunnerContract`.

    `asks` are the smallest resources that a replica of one host has; empty: none need to be named.
    """

    asks: Resources = {}

    def test_it_says_what_it_is(self, fleet: Fleet) -> None:
        runner = fleet.runner
        assert runner.name.isidentifier()
        assert runner.pace_s > 0
        assert [runner.workers(self.asks, replicas) for replicas in (1, 3)] == [1, 3]
        capacity, offers = runner.capacity(), runner.offers
        assert capacity is None or all(number >= 0 for number in capacity.values())
        assert offers is None or self.asks.keys() <= set(offers)

    def test_a_pass_asks_three_times_at_most_and_shows_all_machines(self, fleet: Fleet) -> None:
        stage = Stage(fleet, self.asks)
        stage.create(KEY, epoch=7)
        stage.create(OTHER, workers=2)
        third, fourth = (AttemptKey(f"more-0000000{n}", 0, 0) for n in range(2))
        stage.create(third)
        stage.create(fourth)
        fleet.until(lambda: self._all_seen(stage, 5), "five machines")
        before = fleet.questions()
        machines = stage.runner.list()
        stage.runner.capacity()
        stage.runner.waiting()
        assert fleet.questions() - before <= ASKED_MOST
        seen = {(machine.key, machine.worker, machine.epoch) for machine in machines}
        assert seen == {(KEY, 0, 7), (OTHER, 0, 1), (OTHER, 1, 1), (third, 0, 1), (fourth, 0, 1)}
        assert len({machine.id for machine in machines}) == 5

    def _all_seen(self, stage: Stage, machines: int) -> bool:
        seen = [machine.seen for machine in stage.runner.list()]
        return len(seen) == machines and all(seen) and not stage.runner.waiting()

    def test_who_is_away_makes_us_blind_and_ends_nothing(self, fleet: Fleet) -> None:
        stage = Stage(fleet, self.asks)
        machine = stage.running(SAVES)
        with fleet.away():
            assert _is_refused(stage.runner.list)
            assert _is_refused(lambda: stage.create(OTHER))
            assert stage.runner.look(machine.id) is MachineExistence.UNREACHABLE
        assert stage.machines() == [machine]
        assert stage.runner.look(machine.id) is MachineExistence.THERE
        stage.stop(Cause.CANCELLED, grace_s=60)
        assert stage.ended().exit_code == 9

    def test_a_creation_whose_answer_was_lost_runs_once(self, fleet: Fleet) -> None:
        stage = Stage(fleet, self.asks)
        with fleet.answers_lost(), suppress(RunnerError):
            stage.start(HELLO)
        stage.runner = fleet.again()  # the new runner does not remember this request
        stage.start(HELLO)
        facts, claim = stage.ended(), stage.claim()
        assert claim is not None
        assert (facts.cause, facts.machine) == (Cause.OK, claim.machine)
        stage.cleared()
        assert stage.log() == "hello\n"

    def test_who_remembers_nothing_knows_that_what_has_ended_is_gone(self, fleet: Fleet) -> None:
        stage = Stage(fleet, self.asks)
        stage.start(HELLO)
        machine = stage.ended().machine
        stage.cleared()
        stage.runner = fleet.again()
        stage.gone(machine)
        stage.runner.stop(machine)
        stage.runner.delete(machine)

    def test_the_machines_of_another_bastion_are_none_of_ours(self, fleet: Fleet) -> None:
        stage = Stage(fleet, self.asks)
        machine = stage.running(WAIT)
        stranger = fleet.stranger()
        assert list(stranger.list()) == []
        stranger.sweep()
        assert stage.machines() == [machine]
        assert stage.runner.look(machine.id) is MachineExistence.THERE


def _is_refused(call: Callable[[], object]) -> bool:
    try:
        call()
    except RunnerError:
        return True
    return False
