"""A job that lists several shapes starts in the first that is free, waits with a reason that names both, and is held to one."""

from __future__ import annotations

from tests.support.fleet import Fleet, until

EITHER = "--resources=v4=1/v5p=1"


def test_a_job_takes_the_second_kind_where_the_first_is_full(fleet: Fleet) -> None:
    fleet.ask("bastion", "create", "--local", "--capacity=v4=1,v5p=1", "--poll=0.2")
    first = fleet.submit("first", EITHER, run="sleep 1000")
    fleet.await_state(first, "RUNNING")
    second = fleet.submit("second", EITHER, "--max_tries=2", run="sleep 1000")
    fleet.await_state(second, "RUNNING")
    third = fleet.submit("third", EITHER, run='echo "as $BASTION_ATTEMPT"')
    until(lambda: "choices" in fleet.job(third)["reason"])

    rows = {row["id"]: row for row in fleet.jobs()}
    assert [rows[job]["resources"] for job in (first, second, third)] == [{"v4": 1}, {"v5p": 1}, {"v4": 1}]
    assert [rows[job]["attempts"][0]["resources"] for job in (first, second)] == [{"v4": 1}, {"v5p": 1}]
    assert rows[third]["choices"] == [{"resources": {kind: 1}, "num_replicas": 1} for kind in ("v4", "v5p")]
    assert rows[third]["reason"] == (
        f"waits for 1 v4 (1st of 2 choices): needs 1 v4, 0 of 1 free; default (root/{first}) holds 1; "
        "else 1 v5p, 0 of 1 v5p free"
    ).replace("root", rows[first]["user"])
    assert [event.get("choice", 0) for event in fleet.events("Started")] == [0, 1]
    orders = [path.read_text() for path in fleet.root.glob("attempts/**/order.json")]
    assert sorted("v5p" in text for text in orders) == [False, True]

    why = fleet.ask("launch", "why", third)
    assert [amount["kind"] for amount in why["waiting"]["amounts"]] == ["v4"]
    assert fleet.run("launch", "stop", "second", "--yes").returncode == 0
    assert fleet.wait(third) == 0
    assert fleet.job(third)["attempts"][0]["resources"] == {"v5p": 1}
    again = fleet.run("bastion", "replay")
    assert (again.returncode, "are equal, bit for bit" in again.stdout) == (0, True), again


def test_what_can_never_start_is_told_and_what_nothing_can_is_refused(fleet: Fleet) -> None:
    fleet.ask("bastion", "create", "--local", "--capacity=v4=2,v5p=1", "--poll=0.2")
    until(lambda: '"v5p":1' in (fleet.root / "status.json").read_text())
    said = fleet.run("launch", "--dry_run", "--resources=v5p=9/v4=1", "--", "true")
    assert said.returncode == 0
    assert "choice 1, v5p=9, can never start: v5p=9 is more than the fleet has, v5p=1; ask for less" in said.stderr
    said = fleet.run("launch", "--resources=v5p=9/v4=3", "--", "true")
    assert said.returncode == 1
    assert "v5p=9" in said.stderr
    assert "v4=3" in said.stderr
    job = fleet.submit("stands", "--resources=v5p=9/v4=2", run="sleep 1000")
    fleet.await_state(job, "RUNNING")
    waits = fleet.submit("waits", "--resources=v5p=9/v4=1", run="true")
    until(lambda: "(2nd of 2 choices)" in fleet.job(waits)["reason"])
    why = fleet.ask("launch", "why", waits)
    assert (why["waiting"]["never"], [amount["kind"] for amount in why["waiting"]["amounts"]]) == ("", ["v4"])
