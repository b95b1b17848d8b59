"""Requests into the inbox, and what is checked before anything is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bastion.journal import recover
from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.errors import BastionError, BucketError, Denied, Full, Missing, NoBucket, SpecError
from bastion.model.interfaces import Bucket
from bastion.model.job.spec import JobSpec
from bastion.model.settings.config import Config
from bastion.model.stored.records import Status
from bastion.model.stored.requests import Request, Submit, job_id
from bastion.quota.quota import Quota, QuotaError
from bastion.quota.quota_file import parse
from bastion.quota.resources import Resources, total
from bastion.quota.tiers import pool
from bastion.schedule.admission import complaints, hopeless
from bastion.schedule.runner_choice import RunnerChoice, places_of
from bastion.stores.create_once import create_once, settled

from ..read.reader import read_status


@dataclass(frozen=True, slots=True)
class SubmitContext:
    """What a submission is checked against. `tiers` None: what the fleet holds is not known; `places` None: nor who holds it.

    Of users in `limited` the bastion heeds nothing now, and why.
    """

    quota: Quota
    tiers: tuple[Resources, ...] | None
    places: RunnerChoice | None
    limited: Mapping[str, str] = field(default_factory=dict)

    @property
    def pool(self) -> Resources:
        """What all tiers hold, as far as is known."""
        return total(self.tiers or ())


def ground(bucket: Bucket, config: Config) -> SubmitContext:
    """The quota file and the bastion's sign of life: two reads. Raises `BastionError` if the quota was never good."""
    status = read_status(bucket)
    quota = _quota(bucket, in_force=status is not None and status.quota)
    limited = status.limited if status else {}
    tiers = None if quota.is_open else quota.tiers
    if status and status.capacity:
        tiers = pool(quota, status.capacity)
    return SubmitContext(quota, tiers, _places(status, config), limited)


def check(spec: JobSpec, ground: SubmitContext) -> None:
    """Raises `SpecError` with every reason for which the bastion would refuse the job."""
    sides = None if ground.tiers is None else [ground.pool]
    wrong = complaints(spec, ground.quota, sides, ground.places.faults if ground.places else None)
    wrong += filter(None, [ground.limited.get(spec.user)])
    if wrong:
        raise SpecError("; ".join(wrong))


def doubts(spec: JobSpec, ground: SubmitContext) -> list[str]:
    """What the bastion would accept, and what may not be meant."""
    return [] if ground.tiers is None else list(hopeless(spec, [ground.pool]))


def send(bucket: Bucket, *, user: str, request_id: str, request: Request) -> None:
    """Put a request where the bastion looks; from then on it is the bastion's. Raises `BucketError` if that is unknown."""
    key, data = layout.request(user, request_id), encode(request)
    try:
        mine = settled(lambda: create_once(bucket, key, data)).mine
    except (Denied, Full, NoBucket):
        raise
    except BucketError as error:
        seen = f"launch show {job_id(request.spec.name, request_id)}" if isinstance(request, Submit) else "launch ls"
        raise BucketError(
            f"nobody knows whether the request arrived: look with {seen} before you repeat it: {error}"
        ) from error
    if not mine:
        raise BastionError(f"request {request_id} is in the inbox with another content; submit again")


def _places(status: Status | None, config: Config) -> RunnerChoice | None:
    """The runners, once all of them have said what they have: before that a job might yet go to another."""
    said = status.offers if status else {}
    return places_of(said, {}, config) if said.keys() >= {*config.runners} else None


def _quota(bucket: Bucket, *, in_force: bool) -> Quota:
    """The quota file; the last good one if it is broken, or gone while the bastion says that one is in force."""
    try:
        text = bucket.read(layout.QUOTA).data.decode("utf-8", "replace")
    except Missing:
        return _last_good(bucket) if in_force else Quota.open()
    try:
        return parse(text)
    except QuotaError as error:
        return _last_good(bucket, error)


def _last_good(bucket: Bucket, broken: QuotaError | None = None) -> Quota:
    """The journal has it. Without one a broken file admits nobody, and one that is gone everybody."""
    file = recover.load(bucket).files.get("quota")
    if file is not None and file.text:
        return parse(file.text)
    if broken is None:
        return Quota.open()
    raise BastionError(f"the quota file cannot be used: {broken}; ask an admin to run bastion quota check") from broken
