"""Requests of clients to the bastion, as they are in the inbox. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from ..codec import Record, decode, numbered, readable, refuse_newer, refuse_unknown
from ..errors import BastionError, NewerVersion, RecordError
from ..job.spec import NAME, JobSpec, deserialize_jobspec
from ..job.spec_changes import Changes, complaints
from ..version import REQUEST, VERSION
from ..wording import shown

REQUEST_BYTES_MAX = 256 * 1024

_JOB_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")


class RequestBase(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The base of all requests.

    schema: the number of this form.
    version: version of the client.
    """

    schema: int = numbered(REQUEST)
    version: str = VERSION


class Submit(RequestBase, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="submit", tag_field="kind"):
    """Run this job. The spec's name and the request's id make its id."""

    spec: JobSpec


class Cancel(RequestBase, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="cancel", tag_field="kind"):
    """Stop a job or one of its tasks.

    job: id of the job.
    task: number of the task; None: the whole job.
    """

    job: str
    task: int | None = None


class Hold(RequestBase, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="hold", tag_field="kind"):
    """Start nothing more of this job until it is released. Live attempts go on."""

    job: str


class Release(RequestBase, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="release", tag_field="kind"):
    """Let a held job start again, at its old place."""

    job: str


class Top(RequestBase, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="top", tag_field="kind"):
    """Give this job the best place among its user's pending jobs of its project and priority."""

    job: str


class Update(RequestBase, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="update", tag_field="kind"):
    """Change the spec of a job. A new command replaces live attempts.

    job: id of the job.
    changes: the new values.
    """

    job: str
    changes: Changes


class Pause(RequestBase, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="pause", tag_field="kind"):
    """Start and preempt nothing until the bastion is resumed. Live attempts go on, and may be stopped."""


class Resume(RequestBase, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="resume", tag_field="kind"):
    """Start and preempt again."""


AboutJob = Cancel | Hold | Release | Top | Update
AboutAll = Pause | Resume
Request = Submit | AboutJob | AboutAll


class _Envelope(msgspec.Struct):
    """The part of a request that says how to read the rest."""

    kind: str = ""


class Names(msgspec.Struct, frozen=True, kw_only=True):
    """The names in a job's spec, whatever the rest of it is.

    name: the job's name.
    project: its project; "" if it cannot be read.
    """

    name: str
    project: str


NAMELESS = Names(name="request", project="")
"""The names of a job whose request cannot be read."""


class _Named(msgspec.Struct, frozen=True, kw_only=True):
    """A submit request of any version."""

    spec: Names


class _Submit(RequestBase, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="submit", tag_field="kind"):
    """A submit request whose spec is not parsed yet."""

    spec: msgspec.Raw


ABOUT_JOBS: Mapping[str, type[AboutJob]] = {
    "cancel": Cancel,
    "hold": Hold,
    "release": Release,
    "top": Top,
    "update": Update,
}
"""The type of a request about a job, by its kind. A submit is read in two steps."""

ABOUT_ALL: Mapping[str, type[AboutAll]] = {"pause": Pause, "resume": Resume}
"""The type of a request about the whole bastion, by its kind."""

readable(_Envelope, _Named, _Submit, *ABOUT_JOBS.values(), *ABOUT_ALL.values())


def parse(data: bytes) -> Request:
    """Parse the bytes of a request. Raises `SpecError` for a bad spec, `NewerVersion`, or `RecordError` for anything else.

    What looks wrong in the request of a newer client raises `NewerVersion`: this version does not understand it.
    """
    if len(data) > REQUEST_BYTES_MAX:
        raise RecordError(f"the request has {len(data)} bytes; at most {REQUEST_BYTES_MAX} are allowed")
    try:
        return _parse(data)
    except NewerVersion:
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
    """Return the names of the job that an unreadable request asks for; `NAMELESS` if they are not valid names.

    None: it is a request of ours about something else.
    """
    try:
        if decode(data, _Envelope, "the request").kind in (*ABOUT_JOBS, *ABOUT_ALL):
            return None
        names = decode(data, _Named, "the request").spec
    except RecordError:
        return NAMELESS
    return names if NAME.fullmatch(names.name) and NAME.fullmatch(names.project) else NAMELESS
