"""What a client may ask the bastion, as it lies in the inbox. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from bastion.changes import Changes, complaints
from bastion.codec import Record, decode, readable, refuse_newer
from bastion.errors import RecordError
from bastion.spec import JobSpec, deserialize_jobspec
from bastion.wording import shown

REQUEST_BYTES_MAX = 256 * 1024

_JOB_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")


class Submit(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="submit", tag_field="kind"):
    """Run this job. Its id is made of the spec's name and of the request's id."""

    spec: JobSpec


class Cancel(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="cancel", tag_field="kind"):
    """Stop this job, or one task of it."""

    job: str
    task: int | None = None


class Hold(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="hold", tag_field="kind"):
    """Start nothing more of this job, until it is released. What runs goes on."""

    job: str


class Release(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="release", tag_field="kind"):
    """Let a held job start again, in its old place."""

    job: str


class Top(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="top", tag_field="kind"):
    """Give this job the best place that its user's pending jobs of its project and priority have."""

    job: str


class Update(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="update", tag_field="kind"):
    """Change what a job asks for; a new command replaces what runs."""

    job: str
    changes: Changes


class Pause(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="pause", tag_field="kind"):
    """Start nothing and preempt nobody until the bastion is resumed. What runs goes on, and may be stopped."""


class Resume(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="resume", tag_field="kind"):
    """Decide again."""


AboutJob = Cancel | Hold | Release | Top | Update
AboutAll = Pause | Resume
Request = Submit | AboutJob | AboutAll


class _Envelope(msgspec.Struct):
    """Enough of a request to know how to read the rest."""

    kind: str = ""


class _Submit(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="submit", tag_field="kind"):
    """A submit whose spec is not read yet."""

    spec: msgspec.Raw


ABOUT_JOBS: Mapping[str, type[AboutJob]] = {
    "cancel": Cancel,
    "hold": Hold,
    "release": Release,
    "top": Top,
    "update": Update,
}
"""What a request is read as, by its kind; a submit is read in two steps."""

ABOUT_ALL: Mapping[str, type[AboutAll]] = {"pause": Pause, "resume": Resume}

readable(_Envelope, _Submit, *ABOUT_JOBS.values(), *ABOUT_ALL.values())


def parse(data: bytes) -> Request:
    """A request from its bytes. Raises `SpecError` for a bad spec, `Newer`, or `RecordError` for anything else."""
    if len(data) > REQUEST_BYTES_MAX:
        raise RecordError(f"the request has {len(data)} bytes; at most {REQUEST_BYTES_MAX} are allowed")
    refuse_newer(data, "the request")
    kind = decode(data, _Envelope, "the request").kind
    if kind == "submit":
        return Submit(spec=deserialize_jobspec(bytes(decode(data, _Submit, "the request").spec)))
    if kind in ABOUT_JOBS:
        return _about_job(decode(data, ABOUT_JOBS[kind], "the request"))
    if kind in ABOUT_ALL:
        return decode(data, ABOUT_ALL[kind], "the request")
    raise RecordError(f"the request's kind is {shown(kind)}; use submit, {', '.join((*ABOUT_JOBS, *ABOUT_ALL))}")


def _about_job(request: AboutJob) -> AboutJob:
    if not _JOB_ID.fullmatch(request.job):
        raise RecordError(f"the request's job is {shown(request.job)}; use a job's id")
    if isinstance(request, Update) and (wrong := complaints(request.changes)):
        raise RecordError(f"the request's changes: {'; '.join(wrong)}")
    return request


def job_id(name: str, request_id: str) -> str:
    """What the job's keys are made of; never reused."""
    return f"{name}-{request_id[:8]}"
