"""Run a job without a bastion: write the papers of its only attempt, and read how it ended."""

from __future__ import annotations

from dataclasses import dataclass

from bastion.model import layout
from bastion.model.codec import decode, encode
from bastion.model.errors import ObjectNotFound
from bastion.model.interfaces import AttemptKey, Bucket
from bastion.model.job.spec import JobSpec
from bastion.model.state.state import Cause
from bastion.model.stored.records import RECORD_BYTES_MAX, Claim, Facts, Peer, Peers, StopOrder
from bastion.schedule.desired import first_order
from bastion.stores.create_once import create_once

from ..read import exit_codes


@dataclass(frozen=True, slots=True)
class WithoutBastion:
    """The only attempt of a plain job, with one worker for each replica, in a bucket that no one else uses.

    bucket: bucket of this attempt alone.
    key: job, task and number of the attempt.
    workers: number of workers.
    """

    bucket: Bucket
    key: AttemptKey
    workers: int

    def order(self, spec: JobSpec) -> None:
        """Write the order of the attempt. From then on workers may claim it."""
        create_once(self.bucket, layout.order(self.key), encode(first_order(self.key, spec, workers=self.workers)))

    def gather(self) -> bool:
        """Write the gang's addresses once all workers have claimed. Return True if they are written or not needed."""
        if self.workers == 1:
            return True
        members = []
        for worker in range(self.workers):
            try:
                key = layout.claim(self.key, worker)
                claim = decode(self.bucket.read(key, RECORD_BYTES_MAX).data, Claim, key)
            except ObjectNotFound:
                return False
            members.append(Peer(address=claim.address, port=claim.port))
        create_once(self.bucket, layout.peers(self.key), encode(Peers(members=members)))
        return True

    def stop(self, cause: Cause, grace_s: float, reason: str) -> None:
        """Order the attempt to end. If it is ordered twice, the first order counts."""
        stop = StopOrder(cause=cause, grace_s=grace_s, reason=reason, nonce=str(self.key))
        create_once(self.bucket, layout.stop(self.key), encode(stop))

    def facts(self, worker: int) -> Facts | None:
        """Return the last facts that a worker reported; None if there are none."""
        key = layout.facts(self.key, worker)
        try:
            return decode(self.bucket.read(key, RECORD_BYTES_MAX).data, Facts, key)
        except ObjectNotFound:
            return None


def exit_code(told: list[Facts | None], first: int | None, *, cancelled: bool) -> int:
    """Return the exit code of an attempt, from the last facts of its workers.

    `first` is the worker that failed before anything was stopped; None: there is none, and all workers count. If the
    attempt was `cancelled`, any failure gives `CANCELLED`; otherwise a worker without facts counts as failed.
    """
    codes = [exit_codes.of_attempt(facts.cause, facts.exit_code) if facts else exit_codes.FAILED for facts in told]
    if first is not None:
        return codes[first]
    return 0 if not any(codes) else exit_codes.CANCELLED if cancelled else next(filter(None, codes))
