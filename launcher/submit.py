"""Requests into the inbox, and what is checked before anything is written."""

from __future__ import annotations

from dataclasses import dataclass

from bastion import layout, recover
from bastion.admit import complaints
from bastion.codec import encode
from bastion.errors import BastionError, Missing, SpecError
from bastion.once import create_once
from bastion.ports import Bucket
from bastion.requests import Request
from bastion.spec import JobSpec
from launcher.reader import read_status
from quota.file import parse
from quota.model import Quota, QuotaError
from quota.resources import Resources, total
from quota.tiers import pool


@dataclass(frozen=True, slots=True)
class Ground:
    """What a submission is checked against. `tiers` None: what the fleet holds is not known."""

    quota: Quota
    tiers: tuple[Resources, ...] | None

    @property
    def pool(self) -> Resources:
        """What all tiers hold, as far as is known."""
        return total(self.tiers or ())


def ground(bucket: Bucket) -> Ground:
    """The quota file and the bastion's sign of life: two reads. Raises `BastionError` if the quota was never good."""
    status = read_status(bucket)
    quota = _quota(bucket)
    if status and status.capacity:
        return Ground(quota, pool(quota, status.capacity))
    return Ground(quota, None if quota.is_open else quota.tiers)


def check(spec: JobSpec, ground: Ground) -> None:
    """Raises `SpecError` with every reason for which the bastion would refuse the job."""
    wrong = complaints(spec, ground.quota, ground.tiers)
    if wrong:
        raise SpecError("; ".join(wrong))


def send(bucket: Bucket, *, user: str, request_id: str, request: Request) -> None:
    """Put a request where the bastion looks; from then on it is the bastion's. Raises `BucketError` if that is unknown."""
    if not create_once(bucket, layout.request(user, request_id), encode(request)).mine:
        raise BastionError(f"request {request_id} is in the inbox with another content; submit again")


def _quota(bucket: Bucket) -> Quota:
    try:
        text = bucket.read(layout.QUOTA).data.decode("utf-8", "replace")
    except Missing:
        return Quota.open()
    try:
        return parse(text)
    except QuotaError as error:
        return _last_good(bucket, error)


def _last_good(bucket: Bucket, broken: QuotaError) -> Quota:
    """A broken file leaves the last good one in force: the journal has it."""
    file = recover.load(bucket).files.get("quota")
    if file is None or not file.text:
        raise BastionError(
            f"the quota file cannot be used: {broken}; ask an admin to run bastion quota check"
        ) from broken
    return parse(file.text)
