"""The tests of every runner: subclass `RunnerContract`, and give it a `fleet` of the runner's own machines."""

from __future__ import annotations

from ..journal import logs
from ..model import layout
from ..model.codec import encode
from ..model.interfaces import MachineExistence
from ..model.state.state import Cause
from ..model.stored.records import Claim
from ..stores.create_once import create_once
from .engine_contract import EngineContract
from .environment_contract import EnvironmentContract
from .stage import (
    COUNTS,
    CRASH,
    FAIL,
    HELLO,
    KEY,
    LOST_FOR_GOOD,
    OTHER,
    REPORTS,
    SAVES,
    SAVES_AND_IS_DONE,
    STUBBORN,
    WAIT,
    Fleet,
    Stage,
)
from .trust_contract import TrustContract


class RunnerContract(EnvironmentContract, EngineContract, TrustContract):
    """The conformance suite. Its base classes say what `asks`, `wide` and `devices` mean."""

    def test_a_command_runs_and_its_end_and_its_log_are_told(self, fleet: Fleet) -> None:
        stage = Stage(fleet, self.asks)
        stage.start(HELLO)
        facts = stage.ended()
        assert (facts.cause, facts.exit_code, facts.message) == (Cause.OK, 0, "")
        assert facts.started is not None
        assert facts.ended is not None
        assert stage.log() == "hello\n"

    def test_create_is_idempotent(self, fleet: Fleet) -> None:
        stage = Stage(fleet, self.asks)
        machine = stage.running(WAIT)
        stage.create()
        stage.create(KEY, epoch=2)
        assert stage.machines() == [machine]
        assert KEY not in stage.runner.waiting()
        claim = stage.claim()
        assert claim is not None
        assert claim.machine == machine.id

    def test_the_exit_code_is_the_programs(self, fleet: Fleet) -> None:
        stage = Stage(fleet, self.asks)
        stage.start(FAIL)
        facts = stage.ended()
        assert (facts.cause, facts.exit_code, facts.message) == (Cause.CODE, 3, "Error: no luck")

    def test_a_signal_is_128_and_its_number(self, fleet: Fleet) -> None:
        stage = Stage(fleet, self.asks)
        stage.start(CRASH)
        facts = stage.ended()
        assert (facts.cause, facts.exit_code) == (Cause.SIGNAL, 139)

    def test_a_command_that_does_not_exist_is_127(self, fleet: Fleet) -> None:
        stage = Stage(fleet, self.asks)
        stage.start(["no-such-program-anywhere", "x"])
        facts = stage.ended()
        assert (facts.cause, facts.exit_code) == (Cause.CODE, 127)
        assert "no-such-program-anywhere" in facts.message
        assert "no-such-program-anywhere" in stage.log()

    def test_notice_comes_before_the_kill(self, fleet: Fleet) -> None:
        stage = Stage(fleet, self.asks)
        stage.running(SAVES)
        stage.stop(Cause.PREEMPTED, grace_s=60)
        facts = stage.ended()
        assert (facts.cause, facts.exit_code, facts.message) == (Cause.PREEMPTED, 9, "made way for bob")
        assert "saved" in stage.log().splitlines()

    def test_exit_0_wins_over_the_stop(self, fleet: Fleet) -> None:
        stage = Stage(fleet, self.asks)
        stage.running(SAVES_AND_IS_DONE)
        stage.stop(Cause.PREEMPTED, grace_s=60)
        facts = stage.ended()
        assert (facts.cause, facts.exit_code) == (Cause.OK, 0)

    def test_who_ignores_the_notice_is_killed_after_the_grace(self, fleet: Fleet) -> None:
        stage = Stage(fleet, self.asks)
        stage.running(STUBBORN)
        stage.stop(Cause.CANCELLED, grace_s=0.3)
        facts = stage.ended()
        assert (facts.cause, facts.exit_code) == (Cause.CANCELLED, 137)

    def test_a_second_stop_begins_no_second_grace(self, fleet: Fleet) -> None:
        stage = Stage(fleet, self.asks)
        machine = stage.running(STUBBORN)
        stage.stop(Cause.CANCELLED, grace_s=0.3)
        stage.stop(Cause.PREEMPTED, grace_s=900, nonce="second")
        stage.runner.stop(machine.id)
        assert stage.ended().cause is Cause.CANCELLED
        stage.runner.stop(machine.id)  # to stop an ended worker is no error

    def test_the_time_limit_ends_a_job(self, fleet: Fleet) -> None:
        stage = Stage(fleet, self.asks)
        stage.start(WAIT, time_limit_s=1.0)
        facts = stage.ended()
        assert (facts.cause, facts.exit_code) == (Cause.TIME_LIMIT, 143)

    def test_delete_is_final_and_idempotent(self, fleet: Fleet) -> None:
        stage = Stage(fleet, self.asks)
        machine = stage.running(STUBBORN)
        fleet.until(lambda: stage.facts() is not None, "the first facts")
        assert stage.runner.look(machine.id) is MachineExistence.THERE
        stage.runner.delete(machine.id)
        stage.gone(machine.id)
        stage.runner.delete(machine.id)
        assert stage.machines() == []
        assert stage.phase(0) not in ("", "ended")

    def test_delete_takes_one_machine_and_no_other(self, fleet: Fleet) -> None:
        stage = Stage(fleet, self.asks)
        doomed, other = stage.running(WAIT), stage.running(WAIT, OTHER)
        stage.runner.delete(doomed.id)
        stage.gone(doomed.id)
        assert list(stage.runner.list()) == [other]

    def test_a_voided_claim_runs_nothing(self, fleet: Fleet) -> None:
        stage = Stage(fleet, self.asks)
        create_once(stage.bucket, layout.claim(KEY, 0), encode(Claim(void=True, nonce="bastion")))
        stage.start(HELLO)
        stage.idle()
        assert stage.facts() is None
        assert stage.log() == ""
        stage.cleared()

    def test_a_machine_that_comes_again_runs_nothing_again(self, fleet: Fleet) -> None:
        stage = Stage(fleet, self.asks)
        stage.start(HELLO)
        first = stage.ended()
        stage.cleared()
        stage.create(KEY, epoch=2)
        stage.idle()
        assert stage.facts() == first
        assert stage.log() == "hello\n"
        stage.gone(first.machine)  # an id is never used twice

    def test_an_order_that_comes_late_is_waited_for(self, fleet: Fleet) -> None:
        stage = Stage(fleet, self.asks)
        stage.create()
        fleet.until(lambda: stage.claim() is not None, "a claim")
        stage.start(HELLO)
        assert stage.ended().cause is Cause.OK

    def test_a_stop_ends_a_worker_that_has_no_order_yet(self, fleet: Fleet) -> None:
        stage = Stage(fleet, self.asks)
        stage.create()
        fleet.until(lambda: stage.claim() is not None, "a claim")
        stage.stop(Cause.CANCELLED, grace_s=60)
        facts = stage.ended()
        assert (facts.cause, facts.exit_code) == (Cause.CANCELLED, None)

    def test_a_machine_that_is_taken_away_says_so(self, fleet: Fleet) -> None:
        stage = Stage(fleet, self.asks)
        machine = stage.running(SAVES)
        fleet.take_away(machine.id)  # and there is no stop order anywhere
        facts = stage.ended()
        assert (facts.cause, facts.exit_code) == (Cause.LOST, 9)

    def test_a_machine_whose_worker_died_is_there_until_it_is_deleted(self, fleet: Fleet) -> None:
        stage = Stage(fleet, self.asks)
        machine = stage.running(STUBBORN)
        fleet.crash_worker(machine.id)
        assert stage.machines() == [machine]
        assert stage.runner.look(machine.id) is MachineExistence.THERE
        stage.runner.delete(machine.id)
        stage.gone(machine.id)
        assert stage.machines() == []

    def test_an_orphan_is_listed_under_its_attempt_and_can_be_deleted(self, fleet: Fleet) -> None:
        stage = Stage(fleet, self.asks)
        stage.create(LOST_FOR_GOOD, epoch=5)
        fleet.until(lambda: bool(stage.machines(LOST_FOR_GOOD)), "an orphan")
        orphan = stage.machine(LOST_FOR_GOOD)
        assert orphan.epoch == 5
        stage.cleared(LOST_FOR_GOOD)
        stage.gone(orphan.id)

    def test_an_unknown_machine_is_gone(self, fleet: Fleet) -> None:
        stage = Stage(fleet, self.asks)
        machine = stage.running(WAIT)
        unknown = machine.id[:-1] + ("0" if machine.id[-1] != "0" else "1")
        assert stage.runner.look(unknown) is not MachineExistence.THERE
        stage.gone(unknown)
        stage.runner.stop(unknown)
        stage.runner.delete(unknown)
        assert stage.machines() == [machine]

    def test_no_process_of_a_gang_starts_before_its_peers_are_known(self, fleet: Fleet) -> None:
        stage = Stage(fleet, self.asks)
        stage.start(HELLO, workers=3)
        fleet.until(lambda: all(stage.phase(n) == "waiting" for n in range(3)), "three waiting workers")
        assert [stage.log(worker=n) for n in range(3)] == ["", "", ""]
        stage.meet(3)
        assert [stage.ended(worker=n).cause for n in range(3)] == [Cause.OK] * 3
        assert [stage.log(worker=n) for n in range(3)] == ["hello\n"] * 3

    def test_a_gang_that_waits_can_be_stopped(self, fleet: Fleet) -> None:
        stage = Stage(fleet, self.asks)
        stage.start(HELLO, workers=2)
        fleet.until(lambda: all(stage.phase(n) == "waiting" for n in range(2)), "two waiting workers")
        stage.stop(Cause.PREEMPTED, grace_s=60)
        assert [stage.ended(worker=n).cause for n in range(2)] == [Cause.PREEMPTED] * 2
        assert [stage.log(worker=n) for n in range(2)] == ["", ""]

    def test_the_log_is_complete_when_the_end_is_told(self, fleet: Fleet) -> None:
        stage = Stage(fleet, self.asks)
        stage.start(COUNTS)
        stage.ended()
        assert stage.log() == "".join(f"line {n}\n" for n in range(3000))
        assert logs.survey(stage.bucket, layout.log(KEY, 0)).ended

    def test_a_new_runner_finds_the_machines_of_the_old_one(self, fleet: Fleet) -> None:
        stage = Stage(fleet, self.asks)
        first, second = stage.running(WAIT), stage.running(SAVES, OTHER)
        stage.runner = fleet.again()
        assert {machine.id for machine in stage.runner.list()} == {first.id, second.id}
        stage.create(KEY, epoch=2)
        assert stage.machines() == [first]
        stage.stop(Cause.CANCELLED, grace_s=60, key=OTHER)
        assert stage.ended(OTHER).exit_code == 9
        stage.runner.delete(first.id)
        stage.gone(first.id)

    def test_progress_and_beats_are_told_while_it_runs(self, fleet: Fleet) -> None:
        stage = Stage(fleet, self.asks)
        stage.running(REPORTS)
        fleet.until(lambda: (facts := stage.facts()) is not None and facts.step == 7, "the step")
        facts = stage.facts()
        assert facts is not None
        assert facts.checkpoint_at is not None
        fleet.until(lambda: bool(list(stage.bucket.list(layout.beat(KEY, 0)))), "a beat")
