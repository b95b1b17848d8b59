"""The queue as scripts see it, and what it does: order, borrowing, preemption with notice, resuming from a checkpoint."""

from __future__ import annotations

from datetime import datetime

from tests.support.fleet import Fleet, until

JOB = {
    "id": str,
    "name": str,
    "user": str,
    "project": str,
    "priority": int,
    "resources": dict,
    "num_replicas": int,
    "count": int,
    "state": str,
    "reason": str,
    "submitted": str,
    "tasks": dict,
    "attempts": list,
}
ATTEMPT = {
    "task": int,
    "attempt": int,
    "state": str,
    "cause": (str, type(None)),
    "started": str,
    "ended": (str, type(None)),
    "exit_code": (int, type(None)),
    "replicas": int,
}
TRAIN = """
stop() { echo "saved at $step"; echo $step > "$BASTION_CHECKPOINT_DIR/step"; exit 1; }
trap stop TERM
step=$(cat "$BASTION_CHECKPOINT_DIR/step" 2>/dev/null || echo 0)
echo "from $step"
while [ $step -lt 5 ] || [ ! -e %s ]; do
    step=$((step+1))
    echo "{\\"step\\": $step}" >> "$BASTION_PROGRESS_FILE"
    sleep 0.05
done
echo "done at $step because of $BASTION_RESTART_REASON"
"""


def conforms(value: object, shape: dict[str, type | tuple[type, ...]]) -> bool:
    assert isinstance(value, dict)
    return value.keys() == shape.keys() and all(isinstance(value[key], kind) for key, kind in shape.items())


def test_the_json_of_the_queue_has_exactly_its_keys(shared: Fleet) -> None:
    live = shared.submit("alive", "--user_id=alice", run="sleep 1000")
    shared.await_state(live, "RUNNING")
    said = shared.ask("launch", "ls", "--user_id=alice")
    assert said.keys() == {"schema", "jobs", "bastion"}
    assert (said["schema"], said["bastion"].keys(), said["bastion"]["name"]) == (1, {"name", "last_tick_age_s"}, "demo")
    assert isinstance(said["bastion"]["last_tick_age_s"], float)
    (job,) = said["jobs"]
    assert conforms(job, JOB)
    (attempt,) = job["attempts"]
    assert conforms(attempt, ATTEMPT)
    assert (attempt["state"], attempt["cause"], attempt["ended"], attempt["exit_code"]) == ("RUNNING", None, None, None)
    assert (job["resources"], job["tasks"]) == ({"v4": 1}, {"RUNNING": 1})
    for time in (job["submitted"], attempt["started"]):
        assert time.endswith("Z")
        assert datetime.fromisoformat(time).tzinfo is not None
    assert shared.job(live).keys() == {"schema", "spec", "gpus", *JOB}
    assert shared.run("launch", "stop", live, "--user_id=alice", "--wait").returncode == 0


def test_only_mine_that_have_not_ended_unless_all_are_asked_for(shared: Fleet) -> None:
    ended = shared.submit("ended", "--user_id=dave", run="true")
    assert shared.wait(ended) == 0
    live = shared.submit("dozing", "--user_id=dave", run="sleep 1000")
    assert [job["id"] for job in shared.ask("launch", "ls", "--user_id=dave")["jobs"]] == [live]
    assert [job["id"] for job in shared.ask("launch", "ls", "--user_id=bob")["jobs"]] == []
    assert {live, ended} <= {job["id"] for job in shared.ask("launch", "ls", "--all", "--user_id=bob")["jobs"]}
    table = shared.run("launch", "ls", "--user_id=dave").stdout
    assert "dozing" in table
    assert "last tick" in table.splitlines()[-1]
    assert shared.run("launch", "stop", live, "--user_id=dave", "--wait").returncode == 0


def test_the_more_urgent_goes_first_and_who_waits_is_told_why(shared: Fleet) -> None:
    go, order = shared.folder / "go-urgent", shared.folder / "order"
    all_of_it = ["--user_id=alice", "--resources=v4=8"]
    shared.submit("holder", *all_of_it, "--priority=1", run=f"while [ ! -e {go} ]; do sleep 0.05; done")
    shared.await_state("holder", "RUNNING")
    jobs = [
        shared.submit(name, *all_of_it, f"--priority={priority}", run=f"echo {name} >> {order}")
        for name, priority in [("later", 5), ("sooner", 3), ("soonest", 2)]
    ]
    # A request that is not read yet has a reason, too; once all are read, no reason changes any more.
    until(lambda: all("v4" in shared.job(job)["reason"] for job in jobs))
    for job in jobs:
        assert shared.job(job)["state"] == "PENDING"
        assert shared.job(job)["reason"] in shared.run("launch", "why", job).stdout
    go.touch()
    assert [shared.wait(job) for job in jobs] == [0, 0, 0]
    assert order.read_text().split() == ["soonest", "sooner", "later"]


def test_a_borrower_gets_notice_saves_and_goes_on_where_it_was(shared: Fleet) -> None:
    go = shared.folder / "go-train"
    borrower = shared.submit("borrower", "--user_id=alice", "--resources=v4=8", run=TRAIN % go)
    until(lambda: "from 0" in shared.log(borrower))
    owner = shared.submit("owner", "--user_id=bob", "--resources=v4=4", run=f"while [ ! -e {go} ]; do sleep 0.05; done")
    shared.await_state(owner, "RUNNING")
    shown = shared.job(borrower)
    assert (shown["state"], shown["attempts"][0]["cause"]) == ("PENDING", "preempted")
    assert shown["reason"]
    go.touch()
    assert (shared.wait(owner), shared.wait(borrower)) == (0, 0)
    causes = [attempt["cause"] for attempt in shared.job(borrower)["attempts"]]
    assert causes == ["preempted", "ok"]
    saved = shared.log(borrower, "--attempt=0").splitlines()[-1].removeprefix("saved at ")
    first, *_, last = shared.log(borrower, "--attempt=1").splitlines()
    assert first == f"from {saved}"
    assert last.endswith("because of preempted")
    assert shared.job(borrower)["spec"]["max_tries"] == 1
