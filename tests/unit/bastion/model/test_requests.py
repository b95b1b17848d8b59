"""A request is read strictly, and whatever a stranger writes is refused with one of our errors."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bastion.model.codec import encode
from bastion.model.errors import BastionError, NewerVersion, RecordError, SpecError
from bastion.model.job.spec import SPEC as SPEC_SCHEMA
from bastion.model.job.spec import BundleRef, Provenance
from bastion.model.job.spec_changes import Changes
from bastion.model.layout import job_id
from bastion.model.stored.requests import REQUEST_BYTES_MAX, Cancel, Hold, Release, Request, Submit, Top, Update, parse
from tests.support.world import spec

SPEC = json.loads(encode(spec()))
NEWER = SPEC_SCHEMA + 1


def _submit(**fields: Any) -> bytes:
    return json.dumps({"schema": 1, "kind": "submit", "spec": SPEC, **fields}).encode()


@pytest.mark.parametrize(
    "request_",
    [
        Submit(spec=spec()),
        Cancel(job="j-1"),
        Cancel(job="j-1", task=3),
        Hold(job="j-1"),
        Release(job="j-1"),
        Top(job="j-1"),
        Update(job="j-1", changes=Changes(time_limit_s=None, priority=2)),
        Update(job="j-1", changes=Changes(command=["x"], bundle=BundleRef(), provenance=Provenance(host="h"))),
    ],
)
def test_what_a_client_writes_is_read(request_: Request) -> None:
    assert parse(encode(request_)) == request_


@pytest.mark.parametrize(
    ("data", "error", "told"),
    [
        (b"", RecordError, "cannot be read"),
        (b"\xff\xfe", RecordError, "cannot be read"),
        (b"[]", RecordError, "cannot be read"),
        (b"[" * 200_000, RecordError, "cannot be read"),
        (b"{}", RecordError, "kind is ''"),
        (b'{"kind": "explode"}', RecordError, "use submit, cancel, hold"),
        (b'{"kind": 7}', RecordError, "cannot be read"),
        (b'{"kind": "submit"}', RecordError, "spec"),
        (b'{"kind": "submit", "spec": []}', SpecError, "not a JSON object"),
        (b'{"kind": "cancel"}', RecordError, "job"),
        (b'{"kind": "cancel", "job": "j", "task": "all"}', RecordError, "task"),
        (b'{"kind": "cancel", "job": "j", "surprise": 1}', RecordError, "surprise"),
        (json.dumps({"kind": "cancel", "job": "j" * 1000}).encode(), RecordError, "use a job's id"),
        (b'{"kind": "update", "job": "j", "changes": {}}', RecordError, "the update changes nothing"),
        (
            b'{"kind": "update", "job": "j", "changes": {"priority": 9, "max_tries": 0}}',
            RecordError,
            "priority is 9.*max_tr",
        ),
        (b'{"kind": "update", "job": "j", "changes": {"name": "x"}}', RecordError, "name"),
        (b'{"kind": "update", "job": "j", "changes": {"command": ["x"]}}', RecordError, "can only change together"),
        (b'{"kind": "update", "job": "j", "changes": {"max_tries": null}}', RecordError, "max_tries"),
        (_submit(surprise=1), RecordError, "surprise"),
        (_submit(schema=2), NewerVersion, "upgrade"),
        (_submit(schema=2, kind="unheard of"), NewerVersion, "upgrade"),
        (_submit(spec={**SPEC, "schema": NEWER}), NewerVersion, "upgrade"),
        (_submit(spec={**SPEC, "priority": "high"}), SpecError, "priority"),
        (_submit(spec={**SPEC, "replicas": 10**400}), SpecError, "replicas"),
        (b" " * (REQUEST_BYTES_MAX + 1), RecordError, "at most"),
    ],
)
def test_what_is_no_request_is_refused_with_the_reason(data: bytes, error: type[BastionError], told: str) -> None:
    with pytest.raises(error, match=told) as raised:
        parse(data)
    assert type(raised.value) is error


_json = st.recursive(
    st.sampled_from([None, True, -1, 0, 3, 10**19, -(10**400), 0.5, 1e300, "", "x", "..", "\n", "\0", "é"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["", "A", "v4"]), inner, max_size=2),
    max_leaves=4,
)


@given(st.dictionaries(st.sampled_from([*SPEC, "surprise"]), _json, max_size=5))
def test_no_spec_of_a_stranger_raises_anything_else(fields: dict[str, Any]) -> None:
    with suppress(BastionError):
        assert isinstance(parse(_submit(spec={**SPEC, **fields})), Submit)


@given(st.binary(max_size=60))
def test_no_bytes_raise_anything_else(data: bytes) -> None:
    with pytest.raises(BastionError):
        parse(data)


def test_a_job_is_named_after_its_request() -> None:
    assert job_id("train", "0123456789abcdef") == "train-01234567"
