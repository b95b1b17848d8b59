"""Strangers' requests, written straight into the inbox: each is answered in the journal, and disturbs nobody."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.fleet import Fleet, until

GOOD = {
    "name": "stranger",
    "user": "dave",
    "project": "nlp",
    "command": ["true"],
    "resources": {"v4": 1},
    "grace_s": 1,
}


def submit(**fields: Any) -> bytes:
    return json.dumps({"kind": "submit", "spec": {**GOOD, **fields}}).encode()


def cancel(job: str) -> bytes:
    return json.dumps({"kind": "cancel", "job": job}).encode()


def put(fleet: Fleet, data: bytes, *, user: str = "dave", request: str = "") -> str:
    """The id of a request that lies in the inbox now."""
    request = request or uuid.uuid4().hex
    fleet.put(f"inbox/{user}/{request}.json", data)
    return request


def is_of(event: Any, request: str) -> bool:
    """The journal knows a request by its user and its id."""
    return str(event.get("request", "")).endswith(f"/{request}")


def rejection(fleet: Fleet, request: str) -> str:
    """Why the bastion rejected it."""

    def reasons() -> list[str]:
        events = [*fleet.events("RequestRejected"), *fleet.events("JobRejected")]
        return [event["reason"] for event in events if is_of(event, request)]

    until(lambda: bool(reasons()))
    (reason,) = reasons()
    return reason


def is_consumed(fleet: Fleet, request: str, user: str = "dave") -> bool:
    return not (fleet.root / "inbox" / user / f"{request}.json").exists()


@pytest.fixture(scope="module")
def healthy(shared: Fleet) -> str:
    """Somebody else's job that runs all the while."""
    job = shared.submit("healthy", "--user_id=bob", run="sleep 1000")
    shared.await_state(job, "RUNNING")
    return job


@pytest.fixture(autouse=True)
def undisturbed(shared: Fleet, healthy: str) -> Iterator[None]:
    yield
    shown = shared.job(healthy)
    assert (shown["state"], len(shown["attempts"])) == ("RUNNING", 1)
    assert shared.problems() == []


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "cannot be read"),
        (b"\xff\xfe\x00{", "cannot be read"),
        (b'{"kind": "submit", "spec": ', "cannot be read"),
        (b"[" * 200_000, "cannot be read"),
        (b'{"kind": "frobnicate"}', "kind is 'frobnicate'"),
        (b'{"kind": "cancel", "job": 7}', "cannot be read"),
        (b'{"kind": "submit", "spec": []}', "not a JSON object"),
        (b'{"kind": "submit", "spec": {"schema": 99}}', "upgrade"),
        (submit(colour="red"), "'colour' is not a field of a job spec"),
        (submit(priority="high"), "priority is 'high'"),
        (submit(resources={"v4": -1}), "v4 is -1"),
        (submit(resources={"v4": 1.5}), "resources is"),
        (submit(resources={"v4": 10**7}), "v4 is 10000000"),
        (submit(resources={"v4": 10**40}), "use a whole number from 1 to 1000000"),
        (submit(name="a/../b"), "name is 'a/../b'"),
        (submit(name=".."), "name is '..'"),
        (submit(name="a/b"), "name is 'a/b'"),
        (submit(name="a\nb"), "name is 'a\\nb'"),
        (submit(name="a" * 200), "use 1 to 63 letters"),
        (submit(name="\ud800"), "cannot be read"),
        (submit(command=["a\0b"]), "command holds a NUL character"),
        (submit(env={"RANK": "7"}), "env sets RANK"),
        (submit(replicas=10**9), "replicas is 1000000000"),
        (submit(user="alice"), "the spec names the user alice, but is in the inbox of dave"),
        (submit(project="vision"), "dave is not a member of vision"),
        (submit(project="NLP"), "there is no project NLP; did you mean nlp?"),
        (submit(resources={"v5p": 4}), "this fleet has no v5p; it has "),
        (submit(resources={"v4": 9}), "v4=9 is more than the fleet has, v4=8"),
        (b" " * 50_000_000 + submit(), "at most 262144 are allowed"),
    ],
    ids=lambda value: value[:40].decode("latin-1") if isinstance(value, bytes) else "",
)
def test_a_request_that_makes_no_sense_is_rejected_with_its_reason(shared: Fleet, data: bytes, complaint: str) -> None:
    request = put(shared, data)
    reason = rejection(shared, request)
    assert complaint in reason
    assert len(reason) < 3000
    until(lambda: is_consumed(shared, request))


@pytest.mark.parametrize(
    "key",
    [
        "inbox/nobody.json",
        "inbox/dave/deeper/down.json",
        "inbox/dave/no-json",
        "inbox/da ve/0123456789abcdef.json",
        "inbox/dave/%2e%2e.json",
        f"inbox/dave/{'a' * 200}.json",
    ],
)
def test_an_object_that_is_no_request_is_rejected_and_removed(shared: Fleet, key: str) -> None:
    shared.put(key, submit())
    until(lambda: not (shared.root / key).exists())
    assert "the request's key is not inbox/<user>/<request id>.json" in str(shared.events("RequestRejected")[-1])


def test_what_is_no_file_is_no_request(shared: Fleet) -> None:
    folder = shared.root / "inbox" / "dave"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "link.json").symlink_to("/etc/passwd")
    (folder / "folder.json").mkdir()
    os.mkfifo(folder / "pipe.json")
    assert shared.wait(f"beside-{put(shared, submit(name='beside'))[:8]}") == 0
    for name in ("link.json", "pipe.json"):
        (folder / name).unlink()
    (folder / "folder.json").rmdir()


def test_a_rejected_job_is_shown_and_its_waiter_exits_with_104(shared: Fleet) -> None:
    request = put(shared, submit(name="outsider", project="vision"))
    rejection(shared, request)
    job = f"outsider-{request[:8]}"
    assert shared.job(job)["state"] == "REJECTED"
    assert "not a member of vision" in shared.job(job)["reason"]
    assert shared.wait(job) == 104
    assert shared.run("launch", "logs", job).returncode == 104


def test_a_request_that_cannot_be_parsed_is_shown_to_its_user(shared: Fleet) -> None:
    request = put(shared, b'{"kind": "submit", "spec": ')
    rejection(shared, request)
    job = f"request-{request[:8]}"
    rows = {row["id"]: row for row in shared.ask("launch", "ls", "--all")["jobs"]}
    assert (rows[job]["user"], rows[job]["state"]) == ("dave", "REJECTED")
    assert "cannot be read" in rows[job]["reason"]
    said = shared.run("launch", "why", job)
    assert (said.returncode, "REJECTED" in said.stdout, "cannot be read" in said.stdout) == (0, True, True), said
    assert shared.wait(job) == 104


def test_the_same_request_twice_is_one_job_also_after_it_was_consumed(shared: Fleet) -> None:
    request = put(shared, submit(name="twin"))
    job = f"twin-{request[:8]}"
    until(lambda: is_consumed(shared, request))
    assert shared.wait(job) == 0
    for _ in range(2):
        put(shared, submit(name="twin"), request=request)
        until(lambda: is_consumed(shared, request))
    assert [event["job"] for event in shared.events("Submitted") if is_of(event, request)] == [job]
    assert len(shared.job(job)["attempts"]) == 1


def test_only_its_user_and_admins_cancel_a_job(shared: Fleet, healthy: str) -> None:
    assert "belongs to bob; only bob and admins may stop it" in rejection(shared, put(shared, cancel(healthy)))


def test_cancelling_what_never_was_is_said(shared: Fleet) -> None:
    assert "there is no job ghost-12345678" in rejection(shared, put(shared, cancel("ghost-12345678")))
    assert "the request's job is '../../etc'" in rejection(shared, put(shared, cancel("../../etc")))


def test_cancelling_what_has_ended_changes_nothing(shared: Fleet) -> None:
    job = f"over-{put(shared, submit(name='over'))[:8]}"
    until(lambda: bool([event for event in shared.events("Submitted") if event["job"] == job]))
    assert shared.wait(job) == 0
    request = put(shared, cancel(job))
    until(lambda: is_consumed(shared, request))
    assert shared.job(job)["state"] == "SUCCEEDED"
    assert shared.events("Illegal") == []


def test_a_cancel_that_is_read_before_its_submit_holds(shared: Fleet) -> None:
    assert shared.run("bastion", "stop").returncode == 0
    request = uuid.uuid4().hex
    job = f"regretted-{request[:8]}"
    put(shared, cancel(job))
    put(shared, submit(name="regretted"), request=request)
    shared.run("bastion", "create")
    assert shared.wait(job) == 103
    assert shared.job(job)["attempts"] == []


def refused(fleet: Fleet) -> int:
    """So many jobs were refused: each by itself, or counted where they were too many at once."""
    return len(fleet.events("JobRejected")) + sum(event["count"] for event in fleet.events("RequestsDropped"))


def test_a_flood_of_one_user_does_not_hold_up_another(shared: Fleet) -> None:
    """5,000 requests of dave's were there before carol's one. Hers is among the first 2,000 that are read."""
    assert shared.run("bastion", "stop").returncode == 0
    for _ in range(5_000):
        put(shared, submit(name="flood", resources={"v4": 9}))
    hers = put(shared, submit(name="single", user="carol"), user="carol")
    before = refused(shared)
    shared.run("bastion", "create")
    assert shared.wait(f"single-{hers[:8]}") == 0
    until(lambda: refused(shared) == before + 5_000)
    assert flooded_before(shared, hers) < 2_000
    until(lambda: not list((shared.root / "inbox").glob("*/*")))


def flooded_before(fleet: Fleet, request: str) -> int:
    """How many of the flood stand in the journal before the event of this request."""
    number = 0
    for file in sorted((fleet.root / "journal").glob("*.json")):
        for event in json.loads(file.read_bytes())["events"]:
            if is_of(event, request):
                return number
            number += event.get("name") == "flood"
    raise AssertionError("it is not in the journal")
