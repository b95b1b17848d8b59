"""The laws are tested by breaking the code: each of these bugs, planted on purpose, breaks a law within a few seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from bastion import attempts, control, decide, journal, layout, plan, specs
from bastion.codec import decode, encode
from bastion.errors import BucketError
from bastion.observe import ClaimRead, FactsRead, Sighting
from bastion.once import Once, create_once
from bastion.ports import AttemptKey, Bucket, Sight
from bastion.reconcile import Reconciler
from bastion.records import Claim, Member, World
from bastion.standing import Fence
from bastion.state import Cause
from runners.worker import run as worker
from tests.sim.world import run

SEEDS = 80


@contextmanager
def changed(where: Any, name: str, what: Any) -> Iterator[None]:
    """Replace a piece of the code for a while."""
    kept = getattr(where, name)
    setattr(where, name, what)
    try:
        yield
    finally:
        setattr(where, name, kept)


def no_fence() -> Any:
    """A bastion calls runners however long ago it was confirmed."""
    return changed(Fence, "may_act", lambda self: True)


def absence_is_gone() -> Any:
    """A machine that is not listed counts as gone."""

    def look(self: Reconciler, place: Any) -> list[Sighting]:
        return [FactsRead(place[0].key, place[1], None, gone=True)]

    return changed(Reconciler, "_look", look)


def facts_before_gone() -> Any:
    """The facts are not read again after the machine is gone."""

    def look(self: Reconciler, place: Any) -> list[Sighting]:
        gone = self.runner.look(place[0].posts[place[1]].machine) is Sight.GONE
        return [FactsRead(place[0].key, place[1], None, gone=True)] if gone else []

    return changed(Reconciler, "_look", look)


def claim_is_only_polite() -> Any:
    """A worker that finds another claim runs all the same."""

    def create(bucket: Bucket, key: str, data: bytes) -> Once:
        done = create_once(bucket, key, data)
        return Once(True, done.stored, done.version) if key.startswith(layout.CLAIMS) else done

    return changed(worker, "create_once", create)


def void_without_reading_back() -> Any:
    """A void that was refused counts as one."""

    def void(self: Reconciler, key: AttemptKey, number: int) -> list[Sighting]:
        claim = Claim(void=True, nonce=self.ids.new())
        self.bucket.create(layout.claim(key, number), encode(claim))
        return [ClaimRead(key, number, claim)]

    return changed(Reconciler, "_void", void)


def void_before_journal() -> Any:
    """Attempts that are slow to come up are voided before the journal says that they are given up."""

    def claim(self: Reconciler, key: AttemptKey, number: int) -> list[Sighting]:
        if self.clock.monotonic() - self.asked.get(key, float("inf")) > 30:
            return self._void(key, number)
        return []

    return changed(Reconciler, "_claim", claim)


def stopping_is_free() -> Any:
    """What is being stopped holds nothing any more."""
    holds = plan._holds
    return changed(plan, "_holds", lambda state: [hold for hold in holds(state) if not hold.stopping])


def an_append_without_answer_is_done() -> Any:
    """An append whose outcome is unknown counts as written."""

    def create(bucket: Bucket, key: str, data: bytes) -> Once:
        try:
            return create_once(bucket, key, data)
        except BucketError:
            return Once(True, data, "")

    return changed(journal, "create_once", create)


def a_refused_append_is_done() -> Any:
    """An append that another bastion forestalled counts as written."""

    def create(bucket: Bucket, key: str, data: bytes) -> Once:
        done = create_once(bucket, key, data)
        return Once(True, done.stored, done.version)

    return changed(journal, "create_once", create)


def preempted_wins_over_success() -> Any:
    """What was asked of an attempt counts for more than its exit 0."""
    verdict = decide._verdict

    def mutant(job: Any, task: Any, attempt: Any) -> Any:
        return (attempt.stopping, 0, "") if attempt.stopping is Cause.PREEMPTED else verdict(job, task, attempt)

    return changed(decide, "_verdict", mutant)


def stopped_is_failed() -> Any:
    """The exit code of a process that was stopped is booked as the user's failure."""
    verdict = decide._verdict

    def mutant(job: Any, task: Any, attempt: Any) -> Any:
        code = next((w.exit_code for w in attempt.workers if w.exit_code), None)
        return (Cause.CODE, code, "") if code else verdict(job, task, attempt)

    return changed(decide, "_verdict", mutant)


def a_gang_starts_alone() -> Any:
    """A worker of a gang does not wait for the others."""

    def gather(self: Any, order: Any) -> Any:
        return World(members=[Member(address="", port=0)] * order.workers)

    return changed(worker._Worker, "_gather", gather)


def a_rebooted_worker_knows_its_claim() -> Any:
    """The nonce of a claim outlives the worker: a second start takes the claim for its own."""

    def create(bucket: Bucket, key: str, data: bytes) -> Once:
        done = create_once(bucket, key, data)
        same = key.startswith(layout.CLAIMS) and (
            decode(done.stored, Claim, key).machine == decode(data, Claim, key).machine
        )
        return Once(done.mine or same, done.stored, done.version)

    return changed(worker, "create_once", create)


def lost_is_over() -> Any:
    """A silent worker's attempt ends at once; nobody waits until its machine is gone."""
    settle = decide.settle

    def mutant(state: Any, now: Any) -> Any:
        yield from settle(state, now)
        for key, job, attempt in state.live_attempts():
            if attempt.stopping is Cause.LOST:
                for number in attempt.workers:
                    number.gone = True
                yield decide._end(key, job, job.tasks[key.task], attempt, now)

    return changed(decide, "settle", mutant)


def _blind_to(field: str, of: Callable[[Any], list[Any]]) -> Callable[..., Any]:
    """A decision of the plan that does not see this field."""
    decision = plan.plan

    def mutant(state: Any, *rest: Any) -> Any:
        kept = [(each, getattr(each, field)) for each in of(state)]
        for each, _ in kept:
            setattr(each, field, None)
        try:
            return decision(state, *rest)
        finally:
            for each, value in kept:
                setattr(each, field, value)

    return mutant


def the_held_start() -> Any:
    """The plan does not know who is held."""
    return changed(plan, "plan", _blind_to("held", lambda state: list(state.jobs.values())))


def a_pause_is_forgotten() -> Any:
    """The plan does not know that it is paused."""
    return changed(plan, "plan", _blind_to("paused", lambda state: [state]))


def the_replaced_is_over() -> Any:
    """The successor of a replaced attempt begins while that one still runs."""
    settle = decide.settle

    def mutant(state: Any, now: Any) -> Any:
        yield from settle(state, now)
        for key, job, attempt in state.live_attempts():
            if attempt.stopping is Cause.UPDATED:
                for number in attempt.workers:
                    number.gone = True
                yield decide._end(key, job, job.tasks[key.task], attempt, now)
                yield decide._successor(key, attempt)

    return changed(decide, "settle", mutant)


def an_update_burns_a_try() -> Any:
    """An attempt that was stopped for a new command counts as a failure."""
    return changed(attempts, "FAILURES", attempts.FAILURES | {Cause.UPDATED})


def the_replaced_queues() -> Any:
    """What a replaced attempt held is given to whose turn it is."""
    return changed(decide, "_replaced", lambda job, attempt: False)


def the_old_command_again() -> Any:
    """The order of a new attempt does not know of the new command."""
    return changed(specs, "command_of", lambda bucket, renewed: None)


def the_top_is_everybodys() -> Any:
    """Who goes to the top overtakes others' jobs."""
    return changed(control, "_alike", lambda other, job: True)


MUTANTS = [
    the_held_start,
    a_pause_is_forgotten,
    the_replaced_is_over,
    an_update_burns_a_try,
    the_replaced_queues,
    the_old_command_again,
    the_top_is_everybodys,
    no_fence,
    absence_is_gone,
    facts_before_gone,
    claim_is_only_polite,
    void_without_reading_back,
    void_before_journal,
    stopping_is_free,
    an_append_without_answer_is_done,
    a_refused_append_is_done,
    preempted_wins_over_success,
    stopped_is_failed,
    a_gang_starts_alone,
    a_rebooted_worker_knows_its_claim,
    lost_is_over,
]


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_planted_bug_breaks_a_law(mutant: Callable[[], Any]) -> None:
    with mutant():
        assert any(_breaks(seed) for seed in range(SEEDS)), f"{mutant.__name__} survived {SEEDS} seeds"


def _breaks(seed: int) -> bool:
    try:
        run(seed)
    except AssertionError:
        return True
    return False
