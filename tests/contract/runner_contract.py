"""What every runner has to do: subclass `RunnerContract` and give it a `fleet` of the runner's own machines.

The programs are shell texts. A fleet without a shell (a simulated one) has a stand-in for each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from bastion import layout, logs
from bastion.codec import decode, encode
from bastion.errors import Missing
from bastion.once import create_once
from bastion.ports import AttemptKey, Bucket, Machine, Placement, Runner, Sight
from bastion.records import Claim, Facts, Member, Order, StopOrder, World
from bastion.spec import BundleRef
from bastion.state import Cause

HELLO = "echo hello"
FAIL = "echo 'Error: no luck'; exit 3"
CRASH = "kill -SEGV $$"
WAIT = "echo started; exec sleep 600"
SAVES = "trap 'echo saved; exit 9' TERM; echo started; while :; do sleep 0.05; done"
SAVES_AND_IS_DONE = "trap 'exit 0' TERM; echo started; while :; do sleep 0.05; done"
STUBBORN = "trap '' TERM; echo started; while :; do sleep 0.05; done"
COUNTS = "i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done"
ENVIRONMENT = "env"
REPORTS = """printf '{"step": 7, "checkpoint": true}\\n' >> "$BASTION_PROGRESS_FILE"; echo reported; exec sleep 600"""
PROGRAMS = (HELLO, FAIL, CRASH, WAIT, SAVES, SAVES_AND_IS_DONE, STUBBORN, COUNTS, ENVIRONMENT, REPORTS)

KEY = AttemptKey("train-12345678", 0, 0)
OTHER = AttemptKey("other-87654321", 4, 1)
LOST_FOR_GOOD = AttemptKey("nobody-00000000", 0, 3)


class Fleet(Protocol):
    """A runner with its machines."""

    @property
    def bucket(self) -> Bucket:
        """What the workers use."""

    @property
    def runner(self) -> Runner:
        """The runner under test."""

    def again(self) -> Runner:
        """A new runner over the same machines, as after a restart of the bastion."""

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Return when the condition holds; fail, naming `what`, if it does not in good time."""

    def crash_worker(self, machine: str) -> None:
        """Kill -9 of the worker alone."""

    def questions(self) -> int:
        """How many bulk questions the backend was asked so far."""


def order(key: AttemptKey, command: list[str] | str, workers: int = 1, **changes: object) -> Order:
    """An order of this attempt."""
    fields: dict[str, object] = {
        "job": key.job,
        "name": key.job[:-9],
        "user": "ada",
        "project": "ml",
        "task": key.task,
        "count": 1,
        "attempt": key.attempt,
        "tier": 0,
        "command": command,
        "env": {"GREETING": "hello world"},
        "resources": {},
        "replicas": workers,
        "workers": workers,
        "bundle": BundleRef(),
        "output_dir": "",
        "checkpoint_dir": "",
        "grace_s": 20.0,
        "time_limit_s": None,
        "max_tries": 1,
        "restart_reason": "first",
    }
    return Order(**(fields | changes))  # type: ignore[arg-type]


def placement(key: AttemptKey, workers: int = 1, epoch: int = 1) -> Placement:
    """The wish for the machines of an attempt."""
    return Placement(key=key, resources={}, replicas=workers, workers=workers, tier=0, epoch=epoch)


class Stage:
    """A fleet, and what a bastion does with it."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.bucket = fleet.bucket
        self.runner = fleet.runner

    def start(self, command: list[str] | str, key: AttemptKey = KEY, workers: int = 1, **changes: object) -> None:
        """Write the order, then have the machines created."""
        self.bucket.write(layout.order(key), encode(order(key, command, workers, **changes)))
        self.runner.create(placement(key, workers))

    def running(self, command: list[str] | str, key: AttemptKey = KEY) -> Machine:
        """Start a program that says something, and wait for its word."""
        self.start(command, key)
        self.fleet.until(lambda: bool(self.log(key)), "the program's first word")
        return self.machine(key)

    def stop(self, cause: Cause, grace_s: float, key: AttemptKey = KEY, nonce: str = "n") -> None:
        """Order the attempt to stop, then tell its machines."""
        stop = StopOrder(cause=cause, grace_s=grace_s, reason="made way for bob", nonce=nonce)
        create_once(self.bucket, layout.stop(key), encode(stop))
        for machine in self.machines(key):
            self.runner.stop(machine.id)

    def machines(self, key: AttemptKey = KEY) -> list[Machine]:
        """The machines of an attempt, as listed."""
        return [machine for machine in self.runner.list() if machine.key == key]

    def machine(self, key: AttemptKey = KEY) -> Machine:
        """Its only machine."""
        (machine,) = self.machines(key)
        return machine

    def facts(self, key: AttemptKey = KEY, worker: int = 0) -> Facts | None:
        """What its worker said last."""
        try:
            return decode(self.bucket.read(layout.facts(key, worker)).data, Facts, "facts")
        except Missing:
            return None

    def log(self, key: AttemptKey = KEY, worker: int = 0) -> str:
        """Its output so far."""
        prefix = layout.log(key, worker)
        return b"".join(logs.read(self.bucket, logs.survey(self.bucket, prefix).segments)).decode()

    def claim(self, key: AttemptKey = KEY, worker: int = 0) -> Claim | None:
        """Who claimed."""
        try:
            return decode(self.bucket.read(layout.claim(key, worker)).data, Claim, "claim")
        except Missing:
            return None

    def ended(self, key: AttemptKey = KEY, worker: int = 0) -> Facts:
        """Wait for the end, told and listed; the last facts."""
        self.fleet.until(lambda: (facts := self.facts(key, worker)) is not None and facts.phase == "ended", "an end")
        self.fleet.until(lambda: not [m for m in self.machines(key) if m.worker == worker], "the machine to be gone")
        facts = self.facts(key, worker)
        assert facts is not None
        return facts


class RunnerContract:
    """The conformance suite."""

    def test_a_command_runs_and_its_end_and_its_log_are_told(self, fleet: Fleet) -> None:
        stage = Stage(fleet)
        stage.start(HELLO)
        facts = stage.ended()
        assert (facts.cause, facts.exit_code, facts.message) == (Cause.OK, 0, "")
        assert facts.started is not None
        assert facts.ended is not None
        assert stage.log() == "hello\n"

    def test_create_is_idempotent(self, fleet: Fleet) -> None:
        stage = Stage(fleet)
        machine = stage.running(WAIT)
        stage.runner.create(placement(KEY))
        stage.runner.create(placement(KEY, epoch=2))
        assert stage.machines() == [machine]
        claim = stage.claim()
        assert claim is not None
        assert claim.machine == machine.id

    def test_one_bulk_question_lists_all_machines(self, fleet: Fleet) -> None:
        stage = Stage(fleet)
        stage.runner.create(placement(KEY, workers=3, epoch=7))
        stage.runner.create(placement(OTHER))
        fleet.until(lambda: len(stage.runner.list()) == 4, "four machines")
        before = fleet.questions()
        listed = stage.runner.list()
        assert fleet.questions() == before + 1
        seen = {(machine.key, machine.worker, machine.epoch) for machine in listed}
        assert seen == {(KEY, 0, 7), (KEY, 1, 7), (KEY, 2, 7), (OTHER, 0, 1)}
        assert len({machine.id for machine in listed}) == 4

    def test_the_exit_code_is_the_programs(self, fleet: Fleet) -> None:
        stage = Stage(fleet)
        stage.start(FAIL)
        facts = stage.ended()
        assert (facts.cause, facts.exit_code, facts.message) == (Cause.CODE, 3, "Error: no luck")

    def test_a_signal_is_128_and_its_number(self, fleet: Fleet) -> None:
        stage = Stage(fleet)
        stage.start(CRASH)
        facts = stage.ended()
        assert (facts.cause, facts.exit_code) == (Cause.SIGNAL, 139)

    def test_a_command_that_does_not_exist_is_127(self, fleet: Fleet) -> None:
        stage = Stage(fleet)
        stage.start(["no-such-program-anywhere", "x"])
        facts = stage.ended()
        assert (facts.cause, facts.exit_code) == (Cause.CODE, 127)
        assert "no-such-program-anywhere" in facts.message
        assert "no-such-program-anywhere" in stage.log()

    def test_notice_comes_before_the_kill(self, fleet: Fleet) -> None:
        stage = Stage(fleet)
        stage.running(SAVES)
        stage.stop(Cause.PREEMPTED, grace_s=60)
        facts = stage.ended()
        assert (facts.cause, facts.exit_code, facts.message) == (Cause.PREEMPTED, 9, "made way for bob")
        assert "saved" in stage.log().splitlines()

    def test_exit_0_wins_over_the_stop(self, fleet: Fleet) -> None:
        stage = Stage(fleet)
        stage.running(SAVES_AND_IS_DONE)
        stage.stop(Cause.PREEMPTED, grace_s=60)
        facts = stage.ended()
        assert (facts.cause, facts.exit_code) == (Cause.OK, 0)

    def test_who_ignores_the_notice_is_killed_after_the_grace(self, fleet: Fleet) -> None:
        stage = Stage(fleet)
        stage.running(STUBBORN)
        stage.stop(Cause.CANCELLED, grace_s=0.3)
        facts = stage.ended()
        assert (facts.cause, facts.exit_code) == (Cause.CANCELLED, 137)

    def test_a_second_stop_begins_no_second_grace(self, fleet: Fleet) -> None:
        stage = Stage(fleet)
        machine = stage.running(STUBBORN)
        stage.stop(Cause.CANCELLED, grace_s=0.3)
        stage.stop(Cause.PREEMPTED, grace_s=900, nonce="second")
        stage.runner.stop(machine.id)
        assert stage.ended().cause is Cause.CANCELLED
        stage.runner.stop(machine.id)

    def test_the_time_limit_ends_a_job(self, fleet: Fleet) -> None:
        stage = Stage(fleet)
        stage.start(WAIT, time_limit_s=1.0)
        facts = stage.ended()
        assert (facts.cause, facts.exit_code) == (Cause.TIME_LIMIT, 143)

    def test_delete_is_final_and_idempotent(self, fleet: Fleet) -> None:
        stage = Stage(fleet)
        machine = stage.running(STUBBORN)
        fleet.until(lambda: stage.facts() is not None, "the first facts")
        assert stage.runner.look(machine.id) is Sight.THERE
        stage.runner.delete(machine.id)
        fleet.until(lambda: stage.runner.look(machine.id) is Sight.GONE, "the machine to be gone")
        stage.runner.delete(machine.id)
        assert stage.machines() == []
        assert _phase(stage, 0) not in ("", "ended")

    def test_delete_takes_one_machine_and_no_other(self, fleet: Fleet) -> None:
        stage = Stage(fleet)
        doomed, other = stage.running(WAIT), stage.running(WAIT, OTHER)
        stage.runner.delete(doomed.id)
        fleet.until(lambda: stage.runner.look(doomed.id) is Sight.GONE, "the machine to be gone")
        assert stage.runner.list() == [other]

    def test_a_voided_claim_runs_nothing(self, fleet: Fleet) -> None:
        stage = Stage(fleet)
        create_once(stage.bucket, layout.claim(KEY, 0), encode(Claim(void=True, nonce="bastion")))
        stage.start(HELLO)
        fleet.until(lambda: not stage.machines(), "the machine to be gone")
        assert stage.facts() is None
        assert stage.log() == ""

    def test_a_machine_that_comes_again_runs_nothing_again(self, fleet: Fleet) -> None:
        stage = Stage(fleet)
        stage.start(HELLO)
        first = stage.ended()
        stage.runner.create(placement(KEY, epoch=2))
        fleet.until(lambda: not stage.machines(), "the machine to be gone")
        assert stage.facts() == first
        assert stage.log() == "hello\n"

    def test_an_order_that_comes_late_is_waited_for(self, fleet: Fleet) -> None:
        stage = Stage(fleet)
        stage.runner.create(placement(KEY))
        fleet.until(lambda: stage.claim() is not None, "a claim")
        stage.start(HELLO)
        assert stage.ended().cause is Cause.OK

    def test_a_stop_ends_a_worker_that_has_no_order_yet(self, fleet: Fleet) -> None:
        stage = Stage(fleet)
        stage.runner.create(placement(KEY))
        fleet.until(lambda: stage.claim() is not None, "a claim")
        stage.stop(Cause.CANCELLED, grace_s=60)
        facts = stage.ended()
        assert (facts.cause, facts.exit_code) == (Cause.CANCELLED, None)

    def test_a_machine_that_is_taken_away_says_so(self, fleet: Fleet) -> None:
        stage = Stage(fleet)
        machine = stage.running(SAVES)
        stage.runner.stop(machine.id)  # notice, and no stop order anywhere
        facts = stage.ended()
        assert (facts.cause, facts.exit_code) == (Cause.LOST, 9)

    def test_a_machine_whose_worker_died_is_there_until_it_is_deleted(self, fleet: Fleet) -> None:
        stage = Stage(fleet)
        machine = stage.running(STUBBORN)
        fleet.crash_worker(machine.id)
        assert stage.machines() == [machine]
        assert stage.runner.look(machine.id) is Sight.THERE
        stage.runner.delete(machine.id)
        fleet.until(lambda: stage.runner.look(machine.id) is Sight.GONE, "the machine to be gone")
        assert stage.machines() == []

    def test_an_orphan_is_listed_under_its_attempt_and_can_be_deleted(self, fleet: Fleet) -> None:
        stage = Stage(fleet)
        stage.runner.create(placement(LOST_FOR_GOOD, epoch=5))
        fleet.until(lambda: bool(stage.machines(LOST_FOR_GOOD)), "the orphan")
        orphan = stage.machine(LOST_FOR_GOOD)
        assert orphan.epoch == 5
        stage.runner.delete(orphan.id)
        fleet.until(lambda: not stage.machines(LOST_FOR_GOOD), "the orphan to be gone")

    def test_an_unknown_machine_is_gone(self, fleet: Fleet) -> None:
        stage = Stage(fleet)
        machine = stage.running(WAIT)
        unknown = machine.id[:-1] + ("0" if machine.id[-1] != "0" else "1")
        assert stage.runner.look(unknown) is Sight.GONE
        stage.runner.stop(unknown)
        stage.runner.delete(unknown)
        assert stage.machines() == [machine]

    def test_no_process_of_a_gang_starts_before_the_world_is_known(self, fleet: Fleet) -> None:
        stage = Stage(fleet)
        stage.start(ENVIRONMENT, workers=3)
        fleet.until(lambda: all(_phase(stage, n) == "waiting" for n in range(3)), "three waiting workers")
        claims = [claim for n in range(3) if (claim := stage.claim(worker=n)) is not None]
        world = World(members=[Member(address=claim.address, port=claim.port) for claim in claims])
        assert [stage.log(worker=n) for n in range(3)] == ["", "", ""]
        stage.bucket.create(layout.world(KEY), encode(world))
        for n in range(3):
            assert stage.ended(worker=n).cause is Cause.OK
            env = stage.log(worker=n).splitlines()
            assert {f"RANK={n}", "WORLD_SIZE=3", f"MASTER_PORT={claims[0].port}"} <= set(env)

    def test_a_gang_that_waits_can_be_stopped(self, fleet: Fleet) -> None:
        stage = Stage(fleet)
        stage.start(HELLO, workers=2)
        fleet.until(lambda: all(_phase(stage, n) == "waiting" for n in range(2)), "two waiting workers")
        stage.stop(Cause.PREEMPTED, grace_s=60)
        assert [stage.ended(worker=n).cause for n in range(2)] == [Cause.PREEMPTED] * 2
        assert [stage.log(worker=n) for n in range(2)] == ["", ""]

    def test_the_log_is_complete_when_the_end_is_told(self, fleet: Fleet) -> None:
        stage = Stage(fleet)
        stage.start(COUNTS)
        stage.ended()
        assert stage.log() == "".join(f"line {n}\n" for n in range(3000))
        assert logs.survey(stage.bucket, layout.log(KEY, 0)).ended

    def test_a_new_runner_finds_the_machines_of_the_old_one(self, fleet: Fleet) -> None:
        stage = Stage(fleet)
        first, second = stage.running(WAIT), stage.running(SAVES, OTHER)
        stage.runner = fleet.again()
        assert {machine.id for machine in stage.runner.list()} == {first.id, second.id}
        stage.runner.create(placement(KEY, epoch=2))
        assert stage.machines() == [first]
        stage.stop(Cause.CANCELLED, grace_s=60, key=OTHER)
        assert stage.ended(OTHER).exit_code == 9
        stage.runner.delete(first.id)
        fleet.until(lambda: stage.runner.look(first.id) is Sight.GONE, "the machine to be gone")

    def test_the_process_knows_who_it_is(self, fleet: Fleet) -> None:
        stage = Stage(fleet)
        stage.start(ENVIRONMENT, OTHER, checkpoint_dir="gs://b/c", output_dir="gs://b/o", last_step=41)
        stage.ended(OTHER)
        expected = {
            "BASTION_JOB=other-87654321",
            "BASTION_JOB_NAME=other",
            "BASTION_TASK=4",
            "BASTION_ATTEMPT=1",
            "BASTION_RESTART_REASON=first",
            "BASTION_CHECKPOINT_DIR=gs://b/c",
            "BASTION_OUTPUT_DIR=gs://b/o",
            "BASTION_LAST_STEP=41",
            "RANK=0",
            "WORLD_SIZE=1",
            "GREETING=hello world",
        }
        seen = stage.log(OTHER).splitlines()
        assert expected <= set(seen)
        names = {line.partition("=")[0] for line in seen}
        assert {"PATH", "HOME", "USER", "LANG", "TMPDIR", "BASTION_PROGRESS_FILE", "MASTER_ADDR"} <= names

    def test_progress_and_beats_are_told_while_it_runs(self, fleet: Fleet) -> None:
        stage = Stage(fleet)
        stage.running(REPORTS)
        fleet.until(lambda: (facts := stage.facts()) is not None and facts.step == 7, "the step")
        facts = stage.facts()
        assert facts is not None
        assert facts.checkpoint_at is not None
        fleet.until(lambda: bool(list(stage.bucket.list(layout.beat(KEY, 0)))), "a beat")


def _phase(stage: Stage, worker: int) -> str:
    facts = stage.facts(worker=worker)
    return facts.phase if facts else ""
