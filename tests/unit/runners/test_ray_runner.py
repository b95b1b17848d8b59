"""The Ray runner's memory: what Ray has lost sight of, removals, refusals. The dashboard is a stand-in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from bastion.model.errors import RunnerError
from bastion.model.interfaces import AttemptKey, MachineExistence, Placement
from bastion.platform.system import RandomIds
from bastion.runners.ray import api
from bastion.runners.ray.api import DashboardAnswer, HttpDashboard
from bastion.runners.ray.render import RayJobName, parse, removal_of, session_mark
from bastion.runners.ray.runner import AGAIN_S, HALF_S, LOST_S, RayRunner
from bastion.runners.ray.settings import RaySettings
from bastion.testing.fleets import sealing

KEY = AttemptKey("train-12345678", 0, 0)
FIRST = session_mark("first")


def named(key: AttemptKey, worker: int) -> RayJobName:
    return RayJobName("team-1", key, worker, 1, FIRST, sealing().nonce("team-1", key, worker, 1))


NAME = named(KEY, 0)


class Hand:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def wall(self) -> datetime:
        return datetime.fromtimestamp(self.now, UTC)

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Ray:
    """What Ray would answer: jobs by their names, and a session."""

    def __init__(self) -> None:
        self.jobs: dict[str, dict[str, Any]] = {}
        self.session = "first"
        self.asked: list[tuple[str, str]] = []

    def put(self, name: str, status: str, **more: Any) -> None:
        self.jobs[name] = {"submission_id": name, "status": status, **more}

    def ask(self, verb: str, path: str, body: Mapping[str, Any] | None = None) -> DashboardAnswer:
        self.asked.append((verb, path))
        name = path.removeprefix("/api/jobs/").removesuffix("/stop")
        if path == "/api/version":
            return DashboardAnswer(200, json.dumps({"session_name": self.session}).encode())
        if verb == "POST" and body:
            if body["submission_id"] in self.jobs:
                return DashboardAnswer(400, b"Traceback\nValueError: Job with submission_id x already exists.\n")
            self.put(body["submission_id"], "PENDING")
            return DashboardAnswer(200, b"{}")
        if path == "/api/jobs/":
            return DashboardAnswer(200, json.dumps(list(self.jobs.values())).encode())
        if name not in self.jobs:
            return DashboardAnswer(404, b"no such job")
        if verb == "DELETE":
            del self.jobs[name]
        return DashboardAnswer(200, json.dumps(self.jobs.get(name, {})).encode())


@pytest.fixture
def ray() -> Ray:
    return Ray()


@pytest.fixture
def runner(ray: Ray) -> RayRunner:
    return RayRunner(
        dashboard=ray,
        settings=RaySettings(),
        scope="team-1",
        bucket_url="file:///b",
        ids=RandomIds(),
        seal=sealing(),
        clock=Hand(),
    )


def later(runner: RayRunner, seconds: float) -> None:
    runner.clock.sleep(seconds)


def test_what_ray_has_lost_sight_of_is_gone_only_a_while_later(ray: Ray, runner: RayRunner) -> None:
    ray.put(str(NAME), "FAILED", driver_node_id="n", driver_exit_code=None)
    assert runner.list() == []
    assert runner.look(str(NAME)) is MachineExistence.UNREACHABLE
    later(runner, LOST_S - 1)
    assert runner.look(str(NAME)) is MachineExistence.UNREACHABLE
    later(runner, 1)
    assert runner.look(str(NAME)) is MachineExistence.GONE


@pytest.mark.parametrize("restarted", [False, True])
def test_a_new_head_that_knows_no_job_is_no_proof_at_first(ray: Ray, runner: RayRunner, restarted: bool) -> None:
    if not restarted:  # who was there when the head fell, and who comes later, say the same
        assert runner.look(str(NAME)) is MachineExistence.GONE
    ray.session = "second"
    assert runner.look(str(NAME)) is MachineExistence.UNREACHABLE
    asked = len(ray.asked)
    later(runner, LOST_S - 1)
    assert runner.look(str(NAME)) is MachineExistence.UNREACHABLE
    assert len(ray.asked) == asked, "what is known not to be known yet is not asked for"
    later(runner, 1)
    assert runner.look(str(NAME)) is MachineExistence.GONE


def test_a_machine_carries_the_session_of_its_head(ray: Ray, runner: RayRunner) -> None:
    for session, worker in (("first", 1), ("second", 2)):
        ray.session = session
        runner.list()
        runner.create(Placement(key=KEY, resources={}, replicas=3, workers=worker, tier=0, epoch=1))
        (made,) = (name for job in ray.jobs if (name := parse(job)) and name.worker == worker - 1)
        assert made.session == session_mark(session)


def test_what_runs_is_killed_on_its_node_and_what_waits_is_stopped(ray: Ray, runner: RayRunner) -> None:
    ray.put(str(NAME), "RUNNING", driver_node_id="n")
    runner.delete(str(NAME))
    runner.delete(str(NAME))
    removal = f"/api/jobs/{removal_of(str(NAME))}"
    assert [verb for verb, _ in ray.asked] == ["GET", "POST"], "and not again at once"
    later(runner, AGAIN_S)
    runner.delete(str(NAME))
    assert ray.asked[-1] == ("DELETE", removal), "a removal that came to nothing is made way for"
    later(runner, AGAIN_S)
    runner.delete(str(NAME))
    assert removal_of(str(NAME)) in ray.jobs

    waits = named(KEY, 1)
    ray.put(str(waits), "PENDING")
    runner.delete(str(waits))
    assert ray.asked[-1] == ("POST", f"/api/jobs/{waits}/stop")
    runner.delete("no such id")


def test_what_was_made_and_is_not_listed_yet_is_not_made_again(ray: Ray, runner: RayRunner) -> None:
    wish = Placement(key=KEY, resources={"cpu": 1}, replicas=2, workers=2, tier=0, epoch=1)
    runner.create(wish)
    made = set(ray.jobs)
    ray.jobs.clear()
    runner.list()
    runner.create(wish)
    assert ray.jobs == {}
    later(runner, LOST_S)
    runner.list()
    runner.create(wish)
    assert {parse(name).worker for name in ray.jobs} == {0, 1}  # type: ignore[union-attr]
    assert not made & set(ray.jobs), "no id comes twice"


def test_half_a_gang_gives_its_places_back_after_a_while(ray: Ray, runner: RayRunner) -> None:
    other, single = (
        named(KEY, 1),
        named(AttemptKey("b-12345678", 0, 0), 0),
    )
    ray.put(str(NAME), "RUNNING", driver_node_id="n")
    ray.put(str(other), "PENDING")
    ray.put(str(single), "RUNNING", driver_node_id="n")
    assert [machine.doomed for machine in runner.list()] == [False, False, False]
    later(runner, HALF_S)
    assert [machine.doomed for machine in runner.list()] == [True, True, False]
    ray.put(str(other), "RUNNING", driver_node_id="n")
    assert not any(machine.doomed for machine in runner.list())
    ray.put(str(other), "PENDING")
    assert not any(machine.doomed for machine in runner.list()), "it counts from when it came apart"


def test_a_refusal_says_why(ray: Ray, runner: RayRunner) -> None:
    ray.ask = lambda *_: DashboardAnswer(500, b"Traceback\nRuntimeError: no agent to submit the job.\n\n")  # type: ignore[method-assign]
    with pytest.raises(RunnerError, match="RuntimeError: no agent to submit the job"):
        runner.create(Placement(key=KEY, resources={}, replicas=1, workers=1, tier=0, epoch=1))
    with pytest.raises(RunnerError, match="500"):
        runner.list()
    assert runner.capacity() is None
    assert runner.look(str(NAME)) is MachineExistence.UNREACHABLE


def test_records_of_ours_are_forgotten_after_an_hour(ray: Ray, runner: RayRunner) -> None:
    old, fresh = str(NAME), str(named(KEY, 1))
    ray.put(old, "SUCCEEDED", end_time=0)
    ray.put(fresh, "SUCCEEDED", end_time=3_000_000)
    ray.put("strangers", "SUCCEEDED", end_time=0)
    runner.clock.sleep(3600)
    runner.list()
    runner.sweep()
    assert set(ray.jobs) == {fresh, "strangers"}


PAGE = b"<html>\n<head><title>502 Bad Gateway</title></head>\n<body><hr>nginx</body></html>\n"


@pytest.mark.parametrize(
    ("status", "data", "said"),
    [
        (200, PAGE, "Ray's answer is no JSON: .* is the address that of its dashboard"),
        (200, b"null", "is the address that of its dashboard"),
        (502, PAGE, r"Ray does not answer /api/jobs/: 502 502 Bad Gateway$"),
        (404, b"", "Ray does not answer /api/jobs/: 404"),
        (302, b"", "Ray does not answer /api/jobs/: 302"),
        (401, b"Unauthorized: Missing authentication token", "Missing authentication token; set token_file"),
        (403, b"Forbidden: Invalid authentication token", "Invalid authentication token; set token_file"),
    ],
)
def test_who_is_no_ray_or_knows_us_not_is_blindness_with_a_reason(
    ray: Ray, runner: RayRunner, status: int, data: bytes, said: str
) -> None:
    ray.ask = lambda *_: DashboardAnswer(status, data)  # type: ignore[method-assign]
    with pytest.raises(RunnerError, match=said):
        runner.list()
    assert runner.look(str(NAME)) is MachineExistence.UNREACHABLE
    assert runner.capacity() is None
    with pytest.raises(RunnerError):
        runner.create(Placement(key=KEY, resources={}, replicas=1, workers=1, tier=0, epoch=1))


@pytest.fixture
def server() -> Any:
    """A dashboard that answers with the token it was shown; or too late, or with less than it said."""
    late = Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            said = self.headers.get("Authorization", "none").encode()
            if self.path == "/x/late":
                late.wait(60)
                return
            self.send_response(200)
            if self.path == "/x/part":
                self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(said if self.path == "/x/token" else b"x" * 100)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/x"
    late.set()
    server.shutdown()
    server.server_close()


def test_a_request_shows_its_token_and_takes_no_endless_answer(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = tmp_path / "token"
    token.write_text("s3cret\n")
    assert HttpDashboard(server).ask("GET", "/token").data == b"none"
    assert HttpDashboard(server, str(token)).ask("GET", "/token").data == b"Bearer s3cret"
    with pytest.raises(RunnerError, match="token_file"):
        HttpDashboard(server, str(tmp_path / "none")).ask("GET", "/token")
    monkeypatch.setattr(api, "ANSWER_MAX", 99)
    with pytest.raises(RunnerError, match="over 99 bytes"):
        HttpDashboard(server).ask("GET", "/long")


def test_an_answer_that_comes_late_or_in_part_is_none(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "LIMIT_S", 0.2)
    for path in ("/late", "/part"):
        with pytest.raises(RunnerError, match="Ray does not answer at http"):
            HttpDashboard(server).ask("GET", path)
