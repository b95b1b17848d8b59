"""Names, requests and answers of the Ray runner, as values."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bastion.model.errors import RunnerError
from bastion.model.interfaces import AttemptKey, Placement
from bastion.runners.ray import parse, render
from bastion.runners.ray.render import RayJobName
from bastion.runners.ray.settings import RaySettings, faults, settings_of

NONCE = "0123456789abcdef0123456789abcdef"
NAME = RayJobName("team-1234abcd", AttemptKey("train-12345678", 3, 1), 2, 7, "0123abcd", NONCE)
JOBS = st.from_regex(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?-[0-9a-f]{8}", fullmatch=True)


@given(JOBS, JOBS, *[st.integers(0, 10**6 - 1)] * 4)
def test_a_name_and_its_parts_are_inverse(
    scope: str, job: str, task: int, attempt: int, worker: int, epoch: int
) -> None:
    name = RayJobName(scope, AttemptKey(job, task, attempt), worker, epoch, "0123abcd", NONCE)
    assert render.parse(str(name)) == name
    assert len(f"supervisor-{render.removal_of(str(name))}.log") < 255, "Ray calls files so"


@pytest.mark.parametrize(
    "other", ["", "raysubmit_1", "kill~" + str(NAME), str(NAME)[:-1], str(NAME) + "0", "bastion~a~b"]
)
def test_what_is_not_ours_has_no_name(other: str) -> None:
    assert render.parse(other) is None


def placement(**resources: int) -> Placement:
    return Placement(key=NAME.key, resources=resources, replicas=4, workers=4, tier=0, epoch=7)


def test_a_worker_asks_ray_for_what_a_replica_needs() -> None:
    settings = RaySettings(python="/usr/p y", resources={"v4": "TPU", "big": "GPU:A100-80G"})
    body = render.submission(NAME, placement(cpu=2, memory=3, h100=4), "file:///b", settings, {"flush_s": 1})
    assert (body["entrypoint_num_cpus"], body["entrypoint_num_gpus"], body["entrypoint_memory"]) == (2, 4, 3 * 2**30)
    assert body["entrypoint_resources"] == {"accelerator_type:H100": 0.001}
    words = shlex.split(body["entrypoint"])
    assert words[:3] == ["exec", "/usr/p y", "-I"]
    assert {f"--machine={NAME}", "--gpus=4", "--bucket=file:///b", "--flush_s=1"} <= set(words)
    assert render.needs({"v4": 4, "cpu": 0}, settings.resources) == {"TPU": 4}
    assert render.needs({"big": 1}, settings.resources) == {"GPU": 1, "accelerator_type:A100-80G": 0.001}


def row(**changes: Any) -> dict[str, Any]:
    usual = {"submission_id": str(NAME), "status": "RUNNING", "driver_node_id": "n", "message": "", "end_time": None}
    return usual | {"metadata": {render.NEEDS: json.dumps({"CPU": 2, "GPU": 8})}} | changes


def listed(*rows: Any) -> list[parse.RayJob]:
    return parse.jobs(json.dumps(rows).encode(), NAME.scope)


def test_a_listing_shows_our_jobs_and_no_others() -> None:
    other = row(submission_id=str(NAME).replace("team", "else"))
    (job,) = listed(row(), other, row(submission_id=None, type="DRIVER"), row(submission_id="x"))
    assert (job.name, job.pending, job.over, job.node) == (NAME, False, False, "n")


@pytest.mark.parametrize(
    ("changes", "lost"),
    [
        ({"status": "FAILED", "driver_exit_code": None}, True),
        ({"status": "FAILED", "driver_exit_code": 127}, False),
        ({"status": "FAILED", "driver_exit_code": None, "driver_node_id": None}, False),
        ({"status": "STOPPED"}, False),
        ({"status": "SUCCEEDED", "driver_exit_code": 0}, False),
    ],
)
def test_lost_is_who_ran_and_whose_end_ray_did_not_see(changes: dict[str, Any], lost: bool) -> None:
    (job,) = listed(row(**changes))
    assert job.over
    assert job.lost is lost


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"[1]", b"<html>", b"[" * 100_000, json.dumps([row(status="ODD")]).encode()]
)
def test_an_answer_that_makes_no_sense_is_not_emptiness(data: bytes) -> None:
    with pytest.raises(RunnerError):
        parse.jobs(data, NAME.scope)


def test_what_a_listing_leaves_out_is_forgiven() -> None:
    (job,) = listed({"submission_id": str(NAME), "status": "PENDING", "metadata": {render.NEEDS: "{"}, "end_time": "x"})
    assert (job.pending, job.needs, job.ended) == (True, {}, 0.0)


NODES = [
    {"CPU": 4.0, "memory": 8.5 * 2**30, "object_store_memory": 1e9, "node:10.0.0.1": 1.0},
    {"CPU": 8.0, "GPU": 4.0, "accelerator_type:H100": 1.0, "licence": 2.0, "node:__internal_head__": 1.0},
]


def test_the_capacity_is_that_of_all_living_nodes_in_our_kinds() -> None:
    rows = [{"state": "ALIVE", "resources_total": node} for node in NODES] + [{"state": "DEAD", "resources_total": {}}]
    nodes = parse.nodes(json.dumps({"data": {"result": {"result": rows}}}).encode())
    assert nodes == NODES
    assert parse.capacity(nodes, {}) == {"cpu": 12, "memory": 8, "h100": 4, "licence": 2}
    assert parse.capacity(nodes, {"gpu": "GPU", "seat": "licence"}) == {"cpu": 12, "memory": 8, "gpu": 4, "seat": 2}
    with pytest.raises(RunnerError):
        parse.nodes(b'{"data": []}')


def test_who_waits_is_told_for_what() -> None:
    waits = listed(row(status="PENDING"))
    assert parse.waiting(waits, NODES) == {NAME.key: "none of Ray's 2 nodes has 2 CPU, 8 GPU"}
    fits = listed(row(status="PENDING", metadata={render.NEEDS: json.dumps({"CPU": 8, "memory": 2**30})}))
    assert parse.waiting(fits, []) == {NAME.key: "Ray has no node with 8 CPU, 1 GiB of memory free"}
    failed = row(
        status="FAILED",
        driver_exit_code=127,
        message="failed, last logs:\nsh: 1: /x/python: not found\nRunning entrypoint for job x: y\n",
        end_time=1000,
    )
    again = str(NAME).replace(NONCE, "f" * 32)
    assert parse.waiting(listed(failed, row(status="PENDING", submission_id=again)), NODES) == {
        NAME.key: "Ray did not start its worker: sh: 1: /x/python: not found"
    }
    assert parse.waiting(listed(failed, row(submission_id=again)), NODES) == {}


def test_a_worker_that_was_lost_on_its_way_had_been_started() -> None:
    lost = row(status="FAILED", driver_exit_code=None, message="its node was terminated unexpectedly")
    assert parse.waiting(listed(lost), NODES) == {}


@pytest.mark.parametrize("data", [b"", b"[]", b"<html>", b'{"version": "4"}', b'{"session_name": 7}'])
def test_who_tells_no_session_is_no_head(data: bytes) -> None:
    assert parse.session(b'{"session_name": "session_1"}') == "session_1"
    with pytest.raises(RunnerError, match="dashboard"):
        parse.session(data)


def test_options_are_checked() -> None:
    good = {"address": "https://ray.example:8265/", "python": "/usr/bin/python3", "resources": {"h100": "GPU:H100"}}
    assert faults(good) == []
    assert settings_of(good).address == "https://ray.example:8265"
    assert faults({}) == []
    assert settings_of({}) == RaySettings()
    bad = {
        "adress": 1,
        "address": "ray://head:10001",
        "python": 3,
        "folder": "work",
        "token_file": "x" * 2000,
        "resources": {"H 100": "GPU:H100", "h100": "GPU H100"},
    }
    found = "\n".join(faults(bad))
    assert len(faults(bad)) == 7, found
    for word in ("adress", "ray://head:10001", "python is '3'", "folder", "token_file", "'H 100'", "h100 is"):
        assert word in found
    assert faults({"resources": "GPU"}) == ["resources is 'GPU'; write a table, as { h100 = 'GPU:H100' }"]
    assert faults({"address": "http://[::1"}) != []
