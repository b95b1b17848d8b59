"""A bastion in the background, from its creation to its end: real processes on a bucket in a folder."""

from __future__ import annotations

import json
import os
import resource
from datetime import datetime

import psutil
from msgspec.structs import replace

from bastion.model.settings.config import parse, render
from bastion.platform import host
from tests.support.fleet import Fleet, until


def test_creating_twice_is_one_bastion(fleet: Fleet) -> None:
    first = fleet.create()
    status = fleet.ask("bastion", "status")
    assert (status["state"], status["pid"], status["epoch"]) == ("running", first["pid"], 1)
    assert status["ticks"] >= 1
    assert fleet.create()["pid"] == first["pid"]


def test_settings_are_stored_and_changed_in_place(fleet: Fleet) -> None:
    fleet.create()
    stored = fleet.root / "config.toml"
    before = parse(stored.read_bytes())
    assert (before.poll, before.capacity, before.reclaim_delay) == (0.1, {"v4": 8}, 0)
    said = fleet.run("bastion", "create", "--poll=0.2")
    assert said.returncode == 0
    assert "settings stored: poll = 0.2" in said.stderr
    after = parse(stored.read_bytes())
    assert (after.poll, after.capacity, after.admins) == (0.2, {"v4": 8}, before.admins)


def test_jobs_outlive_a_stopped_bastion_and_are_found_again(fleet: Fleet) -> None:
    fleet.create()
    go = fleet.folder / "go"
    fleet.submit("patient", run=f"while [ ! -e {go} ]; do sleep 0.05; done")
    fleet.await_state("patient", "RUNNING")
    assert fleet.ask("bastion", "stop")["state"] == "stopped"
    assert fleet.run("bastion", "stop").returncode == 0
    fleet.create()
    go.touch()
    fleet.await_state("patient", "SUCCEEDED")
    assert len(fleet.job("patient")["attempts"]) == 1


def test_draining_waits_for_jobs_that_are_not_even_read_yet(fleet: Fleet) -> None:
    fleet.create()
    fleet.submit("short", run="true")
    assert fleet.run("bastion", "stop", "--drain").returncode == 0
    assert fleet.job("short")["state"] == "SUCCEEDED"
    assert fleet.ask("bastion", "status")["state"] == "stopped"


def test_a_killed_bastion_is_stopped_with_a_problem_and_can_be_created_again(fleet: Fleet) -> None:
    process = psutil.Process(fleet.create()["pid"])
    process.kill()
    until(lambda: not host.is_alive(process.pid))
    status = fleet.ask("bastion", "status")
    assert status["state"] == "stopped"
    assert "ended without a last status" in status["problems"][0]
    assert fleet.create()["pid"] != process.pid
    assert fleet.ask("bastion", "status")["epoch"] == 2


def test_deleting_is_refused_while_jobs_live_and_forced_cancels_them(fleet: Fleet) -> None:
    pid = fleet.create()["pid"]
    fleet.submit("endless", run="sleep 1000")
    refused = fleet.run("bastion", "delete", "--yes")
    assert refused.returncode == 1
    assert "endless" in refused.stderr
    assert fleet.run("bastion", "delete", "--force", "--yes").returncode == 0
    assert fleet.job("endless")["state"] == "CANCELLED"
    assert not host.is_alive(pid)


def test_only_an_admin_cancels_everybodys_jobs(fleet: Fleet) -> None:
    fleet.create()
    config = fleet.root / "config.toml"
    mine = config.read_text()
    config.write_text(render(replace(parse(mine), admins=["somebody", "else"])))
    fleet.submit("endless", run="sleep 1000")
    refused = fleet.run("bastion", "delete", "--force", "--yes")
    config.write_text(mine)
    assert refused.returncode == 1
    assert "is no admin of bastion demo; ask one of somebody, else" in refused.stderr


def test_purging_asks_and_then_leaves_nothing(fleet: Fleet) -> None:
    fleet.create()
    assert fleet.run("bastion", "delete", "--purge").returncode == 2
    assert fleet.run("bastion", "delete", "--purge", "--yes").returncode == 0
    gone = fleet.run("bastion", "status")
    assert gone.returncode == 1
    assert "there is no bastion demo" in gone.stderr


def test_one_that_cannot_come_up_says_its_last_words(fleet: Fleet) -> None:
    said = fleet.run("bastion", "create", "--local", "--bucket=memory://of-another-process")
    assert (said.returncode, said.stderr.count("\n")) == (1, 1)
    assert "bastion demo did not start: error: there is no bastion demo" in said.stderr


def test_the_log_of_the_bastion_is_in_the_bucket(fleet: Fleet) -> None:
    fleet.create()
    fleet.run("bastion", "stop")
    lines = fleet.run("bastion", "logs").stdout.splitlines()
    assert any("epoch 1: demo on " in line for line in lines)
    assert fleet.run("bastion", "logs", "--tail=1").stdout.splitlines() == lines[-1:]


def test_a_killed_bastion_leaves_jobs_alone_and_its_successor_finds_their_end(fleet: Fleet) -> None:
    """One runs on into the new bastion, one ends while there is none, one is submitted meanwhile."""
    process = psutil.Process(fleet.create()["pid"])
    started, go = fleet.folder / "started", fleet.folder / "go"
    for name in ("long", "short"):
        fleet.submit(name, run=f"echo {name} >> {started}; i=0; while [ ! -e {go}-{name} ]; do"
                     " i=$((i+1)); echo line $i; sleep 0.02; done; echo last $i")  # fmt: skip
    fleet.await_state("long", "RUNNING")
    fleet.await_state("short", "RUNNING")
    until(lambda: started.exists() and len(started.read_text().split()) == 2)
    process.kill()
    (fleet.folder / "go-short").touch()
    late = fleet.submit("late", run="echo late")
    assert (fleet.job(late)["state"], fleet.job("long")["state"]) == ("PENDING", "RUNNING")
    assert "the scheduler has not picked it up yet (last active" in fleet.job(late)["reason"]
    fleet.create()
    assert fleet.wait("short") == 0
    (fleet.folder / "go-long").touch()
    assert (fleet.wait("long"), fleet.wait(late)) == (0, 0)
    assert sorted(started.read_text().split()) == ["long", "short"]
    for name in ("long", "short"):
        *lines, last = fleet.log(name).splitlines()
        assert lines == [f"line {i + 1}" for i in range(len(lines))]
        assert last == f"last {len(lines)}"
        assert len(fleet.job(name)["attempts"]) == 1


def test_the_loop_in_the_foreground_ends_by_a_signal_and_takes_its_own_settings(fleet: Fleet) -> None:
    fleet.create()
    fleet.run("bastion", "stop")
    with fleet.running("bastion", "start", "--poll=0.2", "--capacity=v4=2") as loop:
        until(lambda: fleet.ask("bastion", "status")["pid"] == loop.pid)
        until(lambda: fleet.ask("bastion", "status")["ticks"] > 0)
        status = fleet.ask("bastion", "status")
        assert (status["state"], status["poll_s"], status["capacity"]) == ("running", 0.2, {"v4": 2})
    assert loop.returncode == 0
    assert fleet.ask("bastion", "status")["state"] == "stopped"
    assert parse((fleet.root / "config.toml").read_bytes()).capacity == {"v4": 8}


def test_what_the_fleet_holds_is_known_as_soon_as_a_bastion_is_created(fleet: Fleet) -> None:
    def ask_for(amount: int) -> int:
        said = fleet.run("launch", f"--resources=v4={amount}", "--dry_run", "--bundler_type=none", "--", "true")
        return said.returncode

    fleet.create()
    assert (ask_for(8), ask_for(9)) == (0, 1)
    fleet.run("bastion", "stop")
    fleet.create("--capacity=v4=16")
    assert (ask_for(16), ask_for(17)) == (0, 1)


def test_the_status_has_its_words(fleet: Fleet) -> None:
    fleet.create()
    status = fleet.ask("bastion", "status")
    assert status["name"] == "demo"
    assert status["state"] == "running"
    assert isinstance(status["epoch"], int)
    assert status["host"] == host.name()
    assert isinstance(status["ticks"], int)
    assert isinstance(status["last_tick_age_s"], float)
    assert isinstance(status["version"], str)
    assert status["counts"] == {}
    assert status["problems"] == []
    fleet.submit("endless", run="sleep 1000")
    until(lambda: fleet.ask("bastion", "status")["counts"] == {"RUNNING": 1})


def until_ticked(fleet: Fleet, times: int) -> None:
    """Return when the bastion at work has ticked so often."""
    before = fleet.ask("bastion", "status")["ticks"]
    until(lambda: bool(fleet.ask("bastion", "status")["ticks"] >= before + times))


def test_a_second_bastion_stands_by_and_takes_over_when_told(fleet: Fleet) -> None:
    first = psutil.Process(fleet.create()["pid"])
    started = fleet.folder / "started"
    fleet.submit("patient", run=f"echo x >> {started}; while [ ! -e {fleet.folder}/go ]; do sleep 0.05; done")
    until(started.exists)
    with fleet.running("bastion", "start") as second:
        assert second.stderr is not None
        assert f"standing by: epoch 1 is at work on {host.name()}, pid {first.pid}" in second.stderr.readline()
        until_ticked(fleet, 10)
        assert second.poll() is None
        assert fleet.ask("bastion", "status")["pid"] == first.pid
    assert second.returncode == 0
    with fleet.running("bastion", "start", "--takeover") as third:
        until(lambda: not host.is_alive(first.pid))
        until(lambda: fleet.ask("bastion", "status")["pid"] == third.pid)
        (fleet.folder / "go").touch()
        assert fleet.wait("patient") == 0
        assert fleet.ask("bastion", "status")["epoch"] == 2
    assert started.read_text() == "x\n"
    assert len(fleet.job("patient")["attempts"]) == 1


def test_times_of_what_happened_while_no_bastion_was_there_are_those_of_the_request_and_the_worker(
    fleet: Fleet,
) -> None:
    fleet.create()
    go = fleet.folder / "go"
    ran = fleet.submit("ran", run=f"until [ -e {go} ]; do sleep 0.1; done")
    fleet.await_state(ran, "RUNNING")
    assert fleet.run("bastion", "stop").returncode == 0
    go.touch()
    facts = fleet.root / "workers" / ran / "0" / "0" / "0.json"
    until(lambda: json.loads(facts.read_bytes())["phase"] == "ended")
    asked = fleet.submit("asked", run="true")
    (request,) = (fleet.root / "inbox").rglob("*.json")
    hour_ago = request.stat().st_mtime - 3_600
    os.utime(request, (hour_ago, hour_ago))
    fleet.create()
    assert (fleet.wait(ran), fleet.wait(asked)) == (0, 0)

    told = moment(json.loads(facts.read_bytes())["ended"])
    (attempt,) = fleet.job(ran)["attempts"]
    assert abs(moment(attempt["ended"]) - told) < 0.002, "the end is the worker's"
    assert abs(moment(fleet.job(asked)["submitted"]) - hour_ago) < 0.002, "the submission is the request's"
    assert "; this happened at " in fleet.run("launch", "history", asked).stdout
    usage = fleet.ask("bastion", "usage")
    assert usage["rows"][0]["wait_s"]["p95"] > 3_590
    assert usage["found_out_later"]["v4"] > 0, "held until the bastion was back, and it says so"


def moment(text: str) -> float:
    """Seconds since 1970 of a moment as our JSON tells it."""
    return datetime.fromisoformat(text).timestamp()


def test_a_bastion_that_alone_is_refused_room_is_a_problem_in_status(fleet: Fleet) -> None:
    """As at the end of its account's disk quota. What nobody can write is told all the same, and is past by itself."""
    pid = fleet.create()["pid"]
    _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    until(lambda: any("disk quota of the bastion's account" in problem for problem in fleet.problems()))
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (hard, hard))
    until(lambda: fleet.problems() == [])
    assert fleet.ask("bastion", "status")["pid"] == pid
