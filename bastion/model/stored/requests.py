"""What a client may ask the bastion, as it lies in the inbox. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from ..codec import Record, decode, numbered, readable, refuse_newer, refuse_unknown
from ..errors import BastionError, Newer, RecordError
from ..job.spec import NAME, JobSpec, deserialize_jobspec
from ..job.spec_changes import Changes, complaints
from ..version import REQUEST, VERSION
from ..wording import shown

REQUEST_BYTES_MAX = 256 * 1024

_JOB_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")


class Asked(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The base of all requests. `version` is that of the client."""

    schema: int = numbered(REQUEST)
    version: str = VERSION


class Submit(Asked, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="submit", tag_field="kind"):
    """Run this job. Its id is made of the spec's name and of the request's id."""

    spec: JobSpec


class Cancel(Asked, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="cancel", tag_field="kind"):
    """Stop this job, or one task of it."""

    job: str
    task: int | None = None


class Hold(Asked, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="hold", tag_field="kind"):
    """Start nothing more of this job, until it is released. What runs goes on."""

    job: str


class Release(Asked, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="release", tag_field="kind"):
    """Let a held job start again, in its old place."""

    job: str


class Top(Asked, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="top", tag_field="kind"):
    """Give this job the best place that its user's pending jobs of its project and priority have."""

    job: str


class Update(Asked, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="update", tag_field="kind"):
    """Change what a job asks for; a new command replaces what runs."""

    job: str
    changes: Changes


class Pause(Asked, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="pause", tag_field="kind"):
    """Start nothing and preempt nobody until the bastion is resumed. What runs goes on, and may be stopped."""


class Resume(Asked, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="resume", tag_field="kind"):
    """Decide again."""


AboutJob = Cancel | Hold | Release | Top | Update
AboutAll = Pause | Resume
Request = Submit | AboutJob | AboutAll


class _Envelope(msgspec.Struct):
    """Enough of a request to know how to read the rest."""

    kind: str = ""


class Names(msgspec.Struct, frozen=True, kw_only=True):
    """What a job is called, whatever else is said of it."""

    name: str
    project: str


NAMELESS = Names(name="request", project="")
"""What stands for the names of a job that was asked for, and cannot be read."""


class _Named(msgspec.Struct, frozen=True, kw_only=True):
    """A submit, of whatever version."""

    spec: Names


class _Submit(Asked, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="submit", tag_field="kind"):
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

readable(_Envelope, _Named, _Submit, *ABOUT_JOBS.values(), *ABOUT_ALL.values())


def parse(data: bytes) -> Request:
    """A request from its bytes. Raises `SpecError` for a bad spec, `Newer`, or `RecordError` for anything else.

    What is wrong with a newer client's is that we do not know it.
    """
    if len(data) > REQUEST_BYTES_MAX:
        raise RecordError(f"the request has {len(data)} bytes; at most {REQUEST_BYTES_MAX} are allowed")
    try:
        return _parse(data)
    except Newer:
        raise
    except BastionError as error:
        refuse_unknown(data, "the request", error)
        raise


def _parse(data: bytes) -> Request:
    refuse_newer(data, "the request", REQUEST)
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


def names_of(data: bytes) -> Names | None:
    """How the job is called that a request asks for, which cannot be read otherwise: `request` if that is no name.

    None: it asks for something else of ours.
    """
    try:
        if decode(data, _Envelope, "the request").kind in (*ABOUT_JOBS, *ABOUT_ALL):
            return None
        names = decode(data, _Named, "the request").spec
    except RecordError:
        return NAMELESS
    return names if NAME.fullmatch(names.name) and NAME.fullmatch(names.project) else NAMELESS


def job_id(name: str, request_id: str) -> str:
    """What the job's keys are made of; never reused."""
    return f"{name}-{request_id[:8]}"
