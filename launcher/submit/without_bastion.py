"""A job without a bastion: what one would write for its only attempt, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass

from bastion.model import layout
from bastion.model.codec import decode, encode
from bastion.model.errors import Missing
from bastion.model.interfaces import AttemptKey, Bucket
from bastion.model.job.spec import JobSpec
from bastion.model.state.state import Cause
from bastion.model.stored.records import PAPER_BYTES_MAX, Claim, Facts, Member, StopOrder, World
from bastion.schedule.desired import first_order
from bastion.stores.create_once import create_once

from ..read import exit_codes


@dataclass(frozen=True, slots=True)
class WithoutBastion:
    """The attempt of a plain job, one worker a replica, in a bucket that is nobody else's."""

    bucket: Bucket
    key: AttemptKey
    workers: int

    def order(self, spec: JobSpec) -> None:
        """Say what is to be run: workers may come."""
        create_once(self.bucket, layout.order(self.key), encode(first_order(self.key, spec, workers=self.workers)))

    def gather(self) -> bool:
        """Say the addresses of the gang if all have come. True if they are said."""
        if self.workers == 1:
            return True
        members = []
        for worker in range(self.workers):
            try:
                key = layout.claim(self.key, worker)
                claim = decode(self.bucket.read(key, PAPER_BYTES_MAX).data, Claim, key)
            except Missing:
                return False
            members.append(Member(address=claim.address, port=claim.port))
        create_once(self.bucket, layout.world(self.key), encode(World(members=members)))
        return True

    def stop(self, cause: Cause, grace_s: float, reason: str) -> None:
        """Say that the attempt has to end; what is said first counts."""
        stop = StopOrder(cause=cause, grace_s=grace_s, reason=reason, nonce=str(self.key))
        create_once(self.bucket, layout.stop(self.key), encode(stop))

    def facts(self, worker: int) -> Facts | None:
        """What a worker said last."""
        key = layout.facts(self.key, worker)
        try:
            return decode(self.bucket.read(key, PAPER_BYTES_MAX).data, Facts, key)
        except Missing:
            return None


def exit_code(told: list[Facts | None], first: int | None, *, cancelled: bool) -> int:
    """The exit code of an attempt, from the last facts of its workers.

    `first` is the one that ended badly before anybody was stopped, if one did; else all count. Of an attempt that was
    `cancelled` every bad end is that; of another one a worker that said nothing of its end has failed.
    """
    codes = [exit_codes.of_attempt(facts.cause, facts.exit_code) if facts else exit_codes.FAILED for facts in told]
    if first is not None:
        return codes[first]
    return 0 if not any(codes) else exit_codes.CANCELLED if cancelled else next(filter(None, codes))
