"""How jobs end: causes, exit codes of whoever waits, tries, limits, stops; arrays and gangs."""

from __future__ import annotations

import json

import pytest

from tests.support.fleet import Fleet, until


@pytest.mark.parametrize(
    ("run", "code", "state", "cause", "exit_code"),
    [
        ("true", 0, "SUCCEEDED", "ok", 0),
        ("exit 7", 7, "FAILED", "code", 7),
        ("exit 120", 100, "FAILED", "code", 120),
        ("kill -9 $$", 100, "FAILED", "signal", 137),
    ],
)
def test_a_waiter_exits_as_the_job_did(
    shared: Fleet, run: str, code: int, state: str, cause: str, exit_code: int
) -> None:
    job = shared.submit("ends", run=run)
    assert shared.wait(job) == code
    shown = shared.job(job)
    (attempt,) = shown["attempts"]
    assert (shown["state"], attempt["cause"], attempt["exit_code"]) == (state, cause, exit_code)
    assert (attempt["state"], attempt["task"], attempt["attempt"], attempt["replicas"]) == ("ENDED", 0, 0, 1)
    assert shared.run("launch", "logs", job).returncode == code
    assert shared.run("launch", "logs", job, "--no_follow").returncode == code


def test_wait_and_follow_of_launch_exit_as_the_job_did(shared: Fleet) -> None:
    for more in ("--wait", "--follow"):
        said = shared.run("launch", "--name=seven", more, "--bundler_type=none", "--", "sh", "-c", "echo x; exit 7")
        assert (said.returncode, said.stdout.splitlines()[-1]) == (7, "seven")


def test_a_command_that_does_not_exist_fails_as_in_a_shell(shared: Fleet) -> None:
    said = shared.run("launch", "--name=missing", "--wait", "--bundler_type=none", "--", "no-such-program", "x")
    assert said.returncode == 100
    shown = shared.job("missing")
    assert (shown["state"], shown["attempts"][0]["exit_code"]) == ("FAILED", 127)
    assert "'no-such-program' was not found" in shown["reason"]


def test_what_has_not_ended_is_101_and_what_is_stopped_103(shared: Fleet) -> None:
    job = shared.submit("endless", run="trap 'echo bye; exit 1' TERM; echo up; while :; do sleep 0.05; done")
    until(lambda: shared.log(job) == "up\n")  # then its trap is set
    shared.await_state(job, "RUNNING")
    assert shared.run("launch", "wait", job, "--timeout=1s").returncode == 101
    assert shared.run("launch", "logs", job, "--no_follow").returncode == 101
    stopped = shared.run("launch", "stop", job)
    assert (stopped.returncode, stopped.stdout) == (0, "endless\n")
    assert shared.wait(job) == 103
    assert shared.run("launch", "stop", job, "--wait").returncode == 0
    shown = shared.job(job)
    assert (shown["state"], shown["attempts"][0]["cause"]) == ("CANCELLED", "cancelled")
    assert shared.log(job).splitlines()[-1] == "bye"


def test_what_waits_is_stopped_at_once(shared: Fleet) -> None:
    everything = shared.submit("everything", "--resources=v4=8", run="sleep 1000")
    waiting = shared.submit("waiting", "--priority=5", run="true")
    until(lambda: "v4" in shared.job(waiting)["reason"])
    assert shared.run("launch", "stop", waiting, "--wait").returncode == 0
    shown = shared.job(waiting)
    assert (shown["state"], shown["attempts"]) == ("CANCELLED", [])
    assert shared.run("launch", "stop", everything, "--wait").returncode == 0


def test_somebody_elses_job_is_not_stopped(shared: Fleet) -> None:
    job = shared.submit("alices", "--user_id=alice", run="sleep 1000")
    refused = shared.run("launch", "stop", job, "--user_id=bob")
    assert refused.returncode == 1
    assert f"job {job} belongs to alice; only alice and admins may stop it" in refused.stderr
    assert shared.run("launch", "stop", job, "--user_id=alice", "--wait").returncode == 0


@pytest.mark.parametrize("command", ["wait", "logs", "why", "show", "stop"])
def test_an_unknown_job_is_102(shared: Fleet, command: str) -> None:
    said = shared.run("launch", command, "nobodys-job", "--json")
    assert said.returncode == 102
    assert "no job 'nobodys-job'" in json.loads(said.stderr)["error"]


def test_a_time_limit_is_124(shared: Fleet) -> None:
    job = shared.submit("slow", "--time_limit=1s", run="trap 'exit 3' TERM; while :; do sleep 0.05; done")
    assert shared.wait(job) == 124
    shown = shared.job(job)
    assert (shown["state"], shown["attempts"][0]["cause"]) == ("TIMEOUT", "time_limit")


def test_who_runs_on_after_its_gang_has_ended_is_stopped(shared: Fleet) -> None:
    job = shared.submit("gang", "--num_replicas=2", "--finish_timeout=1s", run='[ "$RANK" = 0 ] || sleep 1000')
    assert shared.wait(job) == 100
    shown = shared.job(job)
    assert (shown["state"], shown["attempts"][0]["cause"]) == ("FAILED", "straggled")
    assert "still ran 1s after rank 0 had ended with 0; --finish_timeout=0 waits for ever" in shown["reason"]


def test_tries_are_counted_and_the_reason_is_told(shared: Fleet) -> None:
    run = 'echo "$BASTION_ATTEMPT $BASTION_RESTART_REASON"; [ "$BASTION_ATTEMPT" = 2 ] || exit $((9 - BASTION_ATTEMPT))'
    job = shared.submit("trier", "--max_tries=3", "--retry_interval=1s", run=run)
    assert shared.wait(job) == 0
    assert [attempt["exit_code"] for attempt in shared.job(job)["attempts"]] == [9, 8, 0]
    assert [shared.log(job, f"--attempt={n}").strip() for n in range(3)] == ["0 first", "1 failure", "2 failure"]


def test_tries_run_out(shared: Fleet) -> None:
    job = shared.submit("loser", "--max_tries=2", "--retry_interval=0s", run="exit 9")
    assert shared.wait(job) == 9
    assert len(shared.job(job)["attempts"]) == 2


def test_the_same_error_twice_is_enough(shared: Fleet) -> None:
    error = "echo RuntimeError: same bug in step $BASTION_ATTEMPT; exit 9"
    job = shared.submit("looper", "--max_tries=1000", "--retry_interval=0s", run=error)
    assert shared.wait(job) == 9
    shown = shared.job(job)
    told = "the same error twice without progress: RuntimeError: same bug in step 1; --no_crash_guard retries anyway"
    assert (len(shown["attempts"]), shown["state"], shown["reason"]) == (2, "FAILED", told)
    (row,) = [line for line in shared.run("launch", "ls", "--all", "-o", "wide").stdout.splitlines() if job in line]
    assert "  2/1000  " in row


def test_who_saves_each_time_is_tried_on(shared: Fleet) -> None:
    saves = """echo '{"step": 1, "checkpoint": true}' >"$BASTION_PROGRESS_FILE"; [ "$BASTION_ATTEMPT" = 3 ] || exit 9"""
    job = shared.submit("saver", "--max_tries=2", "--retry_interval=0s", run=saves)
    assert shared.wait(job) == 0
    assert [attempt["exit_code"] for attempt in shared.job(job)["attempts"]] == [9, 9, 9, 0]


def test_an_array_is_told_apart_and_each_task_has_a_name(shared: Fleet) -> None:
    job = shared.submit(
        "sweep", "--count=4", run='echo "task $BASTION_TASK of $BASTION_TASK_COUNT"; exit $BASTION_TASK'
    )
    assert shared.wait(job) == 100
    shown = shared.job(job)
    assert (shown["count"], shown["tasks"], shown["state"]) == (4, {"FAILED": 3, "SUCCEEDED": 1}, "FAILED")
    assert shared.log("sweep[3]") == "task 3 of 4\n"
    assert [shared.wait(f"sweep[{n}]") for n in range(4)] == [0, 1, 2, 3]
    assert shared.run("launch", "wait", "sweep", "--task=3").returncode == 3
    assert shared.run("launch", "wait", "sweep[4]").returncode == 102


def test_one_task_of_an_array_is_stopped_alone(shared: Fleet) -> None:
    job = shared.submit("part", "--count=2", run="[ $BASTION_TASK = 0 ] || sleep 1000")
    assert shared.wait(f"{job}[0]") == 0
    assert shared.run("launch", "stop", f"{job}[1]", "--wait").returncode == 0
    assert shared.job(job)["tasks"] == {"CANCELLED": 1, "SUCCEEDED": 1}


def test_a_gang_starts_together_and_knows_its_ranks(shared: Fleet) -> None:
    job = shared.submit("gang", "--num_replicas=2", "--resources=v4=2", run=
        'echo "$RANK/$WORLD_SIZE at $MASTER_ADDR:$MASTER_PORT replica $BASTION_REPLICA_INDEX"')  # fmt: skip
    assert shared.wait(job) == 0
    first, second = sorted(shared.log(job).splitlines())
    address = first.split()[-3]
    assert first == f"[w000] 0/2 at {address} replica 0"
    assert second == f"[w001] 1/2 at {address} replica 1"
    assert shared.log(job, "--worker=1") == second + "\n"
    assert shared.job(job)["attempts"][0]["replicas"] == 2


def test_a_gang_fails_as_its_first_failing_process(shared: Fleet) -> None:
    job = shared.submit("brittle", "--num_replicas=2", run="[ $RANK = 0 ] && exec sleep 1000; exit 5")
    assert shared.wait(job) == 5
    (attempt,) = shared.job(job)["attempts"]
    assert (attempt["cause"], attempt["exit_code"]) == ("code", 5)


def test_one_that_ignores_the_notice_is_killed_after_its_grace(shared: Fleet) -> None:
    job = shared.submit("deaf", "--grace=1s", run="trap '' TERM; echo up; while :; do sleep 0.05; done")
    until(lambda: shared.log(job) == "up\n")
    assert shared.run("launch", "stop", job, "--wait").returncode == 0
    shown = shared.job(job)
    assert (shown["state"], shown["attempts"][0]["exit_code"]) == ("CANCELLED", 137)


def test_nothing_is_left_of_one_that_forks_and_exits(shared: Fleet) -> None:
    job = shared.submit(
        "daemon", "--grace=1s", run="trap '' TERM; setsid -f sleep 1111; (setsid sleep 1112 &) ; exit 0"
    )
    assert shared.wait(job) == 0
    assert shared.processes(job) == []


def test_much_output_is_complete(shared: Fleet) -> None:
    """64 MB here; the whole gigabyte of the contract is a test of the worker."""
    job = shared.submit("loud", run="yes 'a line of thirty-two characters' | head -c 64000000; echo; echo end")
    assert shared.wait(job) == 0
    said = shared.run("launch", "logs", job)
    assert len(said.stdout) == 64_000_005
    assert said.stdout.endswith("\nend\n")
