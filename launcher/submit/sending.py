"""Check jobs before anything is written, and write requests into the inbox."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bastion.journal import recover
from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.errors import (
    AccessDenied,
    BastionError,
    BucketError,
    BucketNotFound,
    ObjectNotFound,
    SpecError,
    StoreFull,
)
from bastion.model.interfaces import Bucket
from bastion.model.job.spec import JobSpec
from bastion.model.layout import job_id
from bastion.model.settings.config import Config
from bastion.model.stored.requests import Request, Submit
from bastion.model.stored.status import Status
from bastion.quota.quota import Quota, QuotaError
from bastion.quota.quota_file import parse
from bastion.quota.resources import Resources, total
from bastion.quota.tiers import tier_amounts
from bastion.schedule.admission import complaints, hopeless
from bastion.schedule.runner_choice import RunnerChoice, places_of
from bastion.stores.create_once import create_once, settled

from ..read.reader import read_status


@dataclass(frozen=True, slots=True)
class SubmitContext:
    """The facts that a submission is checked against.

    quota: quota file in force.
    tiers: capacity of each tier, best first; None: unknown.
    places: runners, with the kinds that they have; None: not all of them have reported yet.
    limited: users whose requests the bastion ignores at present, but for the end of a job; the value is the reason.
    """

    quota: Quota
    tiers: tuple[Resources, ...] | None
    places: RunnerChoice | None
    limited: Mapping[str, str] = field(default_factory=dict)

    @property
    def capacity(self) -> Resources:
        """The capacity of all tiers together, as far as it is reported."""
        return total(self.tiers or ())


def submit_context(bucket: Bucket, config: Config) -> SubmitContext:
    """Read the quota file and the bastion's status. Takes two reads.

    If the quota file is broken or missing, the journal is read, too. Raises `BastionError` if the file is broken and no
    version of it was ever valid.
    """
    status = read_status(bucket)
    quota = _quota(bucket, in_force=status is not None and status.quota)
    limited = status.limited if status else {}
    tiers = None if quota.is_open else quota.tiers
    if status and status.capacity:
        tiers = tier_amounts(quota, status.capacity)
    return SubmitContext(quota, tiers, _places(status, config), limited)


def check(spec: JobSpec, context: SubmitContext) -> None:
    """Check the job as the bastion would. Raises `SpecError` with every reason for a refusal."""
    partitions = None if context.tiers is None else [context.capacity]
    wrong = complaints(spec, context.quota, partitions, context.places.faults if context.places else None)
    wrong += filter(None, [context.limited.get(spec.user)])
    if wrong:
        raise SpecError("; ".join(wrong))


def doubts(spec: JobSpec, context: SubmitContext) -> list[str]:
    """List what the bastion would accept, but the user may not intend."""
    return [] if context.tiers is None else list(hopeless(spec, [context.capacity]))


def send(bucket: Bucket, *, user: str, request_id: str, request: Request) -> None:
    """Write a request into the inbox; from then on the bastion owns it.

    Raises `BucketError` if the outcome of the write is unknown, and `BastionError` if the id holds another request.
    """
    key, data = layout.request(user, request_id), encode(request)
    try:
        mine = settled(lambda: create_once(bucket, key, data)).mine
    except (AccessDenied, StoreFull, BucketNotFound):
        raise
    except BucketError as error:
        seen = f"launch show {job_id(request.spec.name, request_id)}" if isinstance(request, Submit) else "launch ls"
        raise BucketError(
            f"it is not known if the request arrived; check with {seen} before you repeat it: {error}"
        ) from error
    if not mine:
        raise BastionError(f"request {request_id} is in the inbox with another content; submit again")


def _places(status: Status | None, config: Config) -> RunnerChoice | None:
    """Return the runners; None until all have reported what they have, as the job might yet go to another runner."""
    said = status.offers if status else {}
    return places_of(said, {}, config) if said.keys() >= {*config.runners} else None


def _quota(bucket: Bucket, *, in_force: bool) -> Quota:
    """Return the quota file. If it is broken, or missing while the bastion reports one in force: the last valid one."""
    try:
        text = bucket.read(layout.QUOTA).data.decode("utf-8", "replace")
    except ObjectNotFound:
        return _last_good(bucket) if in_force else Quota.open()
    try:
        return parse(text)
    except QuotaError as error:
        return _last_good(bucket, error)


def _last_good(bucket: Bucket, broken: QuotaError | None = None) -> Quota:
    """Return the last valid quota file, from the journal.

    If the journal has none, a missing file means no limits. A broken file raises `BastionError`: it admits no job.
    """
    file = recover.load(bucket).files.get("quota")
    if file is not None and file.text:
        return parse(file.text)
    if broken is None:
        return Quota.open()
    raise BastionError(f"the quota file cannot be used: {broken}; ask an admin to run bastion quota check") from broken
