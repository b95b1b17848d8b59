"""A spec of AXLearn's becomes one of ours, or is refused with every part that has no equal."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bastion.launcher.submit.from_axlearn import converted
from bastion.model.errors import SpecError
from bastion.model.job.spec import new_jobspec

THEIRS: dict[str, Any] = {
    "version": 1,
    "name": "ann-train",
    "command": "python3 -c 'import jax; print(jax.devices())' --flag=\"a b\"",
    "cleanup_command": None,
    "env_vars": {"XLA_FLAGS": "--x=1"},
    "metadata": {
        "user_id": "ann",
        "project_id": "nlp",
        "creation_time": "2023-07-26 01:02:03.000004",
        "resources": {"v4": 8},
        "priority": 2,
        "job_id": "b3a1",
    },
}


def theirs(**changes: Any) -> bytes:
    """Their spec with other fields; those of the metadata as `metadata_…`."""
    inner = {name.removeprefix("metadata_"): value for name, value in changes.items() if name.startswith("metadata_")}
    outer = {name: value for name, value in changes.items() if not name.startswith("metadata_")}
    return json.dumps({**THEIRS, **outer, "metadata": {**THEIRS["metadata"], **inner}}).encode()


def test_a_spec_of_theirs_is_one_of_ours() -> None:
    fields, left = converted(theirs())
    assert fields == {
        "name": "ann-train",
        "user": "ann",
        "project": "nlp",
        "command": ["python3", "-c", "import jax; print(jax.devices())", "--flag=a b"],
        "env": {"XLA_FLAGS": "--x=1"},
        "resources": {"v4": 8},
        "priority": 2,
    }
    assert [line.partition(":")[0] for line in left] == ["left out creation_time", "left out job_id"]
    assert new_jobspec(**fields).priority == 2


def test_what_theirs_leaves_out_is_left_out() -> None:
    fields, left = converted(
        theirs(env_vars=None, metadata_job_id=None, metadata_creation_time=None, metadata_project_id="none")
    )
    assert ("env" in fields, "project" in fields, left) == (False, False, [])


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"cleanup_command": "rm -rf x"},
            "a cleanup command has no equivalent; put it into the command: bash -c 'trap",
        ),
        ({"version": 2}, "version is 2; only 1 is supported"),
        ({"code_asset_path": "gs://x"}, "'code_asset_path' is not a field"),
        ({"metadata_topologies": ["2x2"]}, "metadata.'topologies' is not a field"),
        ({"command": "echo 'a"}, "its quotes do not match"),
        ({"command": 7}, "command is 7; use a text"),
        ({"name": "a/b"}, "name is 'a/b'; use"),
        ({"metadata_priority": -1000}, "priority is -1000; use 1 to 5"),
        ({"metadata_resources": {"v4": "many"}}, "resources is"),
        ({"env_vars": {"RANK": "0"}}, "env sets RANK"),
        ({"metadata_user_id": None}, "user is missing"),
    ],
)
def test_what_has_no_equal_is_named(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(SpecError) as refused:
        converted(theirs(**changes))
    assert told in str(refused.value)


def test_all_complaints_come_at_once() -> None:
    with pytest.raises(SpecError, match=r"version is 9.*cleanup.*priority is 77"):
        converted(theirs(version=9, cleanup_command="x", metadata_priority=77))


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b"\xff", b'{"metadata": 7}', b"[" * 100_000, b"x" * 300_000])
def test_what_is_no_spec_of_theirs_is_refused(data: bytes) -> None:
    with pytest.raises(SpecError):
        converted(data)


VALUES = st.none() | st.text(max_size=9) | st.integers() | st.lists(st.text(max_size=3))


@given(st.dictionaries(st.sampled_from([*THEIRS, "x"]), VALUES, max_size=4))
def test_no_field_of_theirs_makes_it_fall(changes: dict[str, Any]) -> None:
    with suppress(SpecError):
        converted(json.dumps({**THEIRS, **changes}).encode())
