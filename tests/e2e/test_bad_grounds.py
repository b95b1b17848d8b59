"""The ground gives way: a broken quota file, a full disk. Jobs go on, the status says so, and work goes on after it."""

from __future__ import annotations

import psutil

from tests.e2e.conftest import QUOTA
from tests.support.fleet import TOOLS, Fleet, until

FILE = "project-quotas/project-quotas.config"


def test_a_broken_quota_file_leaves_the_last_good_one_in_force(fleet: Fleet) -> None:
    fleet.create("--capacity=v4=8,cpu=64")
    fleet.set_quota(QUOTA)
    job = fleet.submit("steady", "--user_id=alice", run="sleep 1000")
    fleet.await_state(job, "RUNNING")
    fleet.put(FILE, b"[total_resources\nv4 = many")
    until(lambda: any(FILE in problem and "line 1" in problem for problem in fleet.problems()))
    assert fleet.wait(fleet.submit("newcomer", "--user_id=alice", run="true")) == 0
    assert fleet.run("launch", "--user_id=mallory", "--bundler_type=none", "--", "true").returncode == 1
    assert fleet.job(job)["state"] == "RUNNING"
    fleet.run("bastion", "stop")
    fleet.create("--capacity=v4=8,cpu=64")
    assert fleet.wait(fleet.submit("later", "--user_id=alice", run="true")) == 0
    assert any(FILE in problem for problem in fleet.problems())
    fleet.put(FILE, QUOTA.encode())
    until(lambda: fleet.problems() == [])
    assert len(fleet.job(job)["attempts"]) == 1


def test_one_that_was_never_good_starts_nothing(fleet: Fleet) -> None:
    fleet.put(FILE, b"\xff\xfe")
    fleet.create()
    until(lambda: any(FILE in problem and "nothing starts" in problem for problem in fleet.problems()))
    refused = fleet.run("launch", "--resources=v4=1", "--bundler_type=none", "--", "true")
    assert refused.returncode == 1
    assert "the quota file cannot be used" in refused.stderr
    fleet.put("inbox/alice/0123456789abcdef.json", b'{"kind": "submit", "spec": {"name": "waiter", "user": "alice",'
              b' "project": "nlp", "command": ["true"], "resources": {"v4": 1}}}')  # fmt: skip
    until(lambda: bool(fleet.events("Submitted")))
    until(lambda: "the quota file is broken" in fleet.job("waiter")["reason"])
    fleet.put(FILE, QUOTA.encode())
    assert fleet.wait("waiter") == 0


def test_a_set_quota_is_checked_and_says_its_lines(fleet: Fleet) -> None:
    fleet.create()
    file = fleet.folder / "broken.toml"
    file.write_text(QUOTA.replace("v4 = 0.5", "v4 = 1.5"))
    for action in (["check", str(file)], ["set", str(file), "--yes"]):
        said = fleet.run("bastion", "quota", *action)
        assert said.returncode == 1
        assert "line " in said.stderr
    assert not (fleet.root / FILE).exists()


def test_a_full_disk_is_outlived(fleet: Fleet) -> None:
    """No byte more for the bastion, by a limit of the system on its process; then there is room again."""
    pid = fleet.create()["pid"]
    running = fleet.submit("steady", run=f"while [ ! -e {fleet.folder}/go ]; do sleep 0.05; done")
    fleet.await_state(running, "RUNNING")
    bastion = psutil.Process(pid)
    _, most = bastion.rlimit(psutil.RLIMIT_FSIZE)
    bastion.rlimit(psutil.RLIMIT_FSIZE, (0, most))
    waiting = fleet.submit("waiting", run="true")
    (fleet.folder / "go").touch()
    ticks = fleet.ask("bastion", "status")["ticks"]
    assert fleet.run("launch", "wait", waiting, "--timeout=3s").returncode == 101
    assert "the scheduler has not picked it up yet" in fleet.job(waiting)["reason"]
    assert bastion.is_running()
    bastion.rlimit(psutil.RLIMIT_FSIZE, (most, most))
    assert (fleet.wait(waiting), fleet.wait(running)) == (0, 0)
    until(lambda: fleet.ask("bastion", "status")["ticks"] > ticks)
    until(lambda: fleet.problems() == [])
    status = fleet.ask("bastion", "status")
    assert (status["pid"], status["epoch"]) == (pid, 1)
    assert [len(fleet.job(job)["attempts"]) for job in (waiting, running)] == [1, 1]
    until(lambda: "cannot be written, retrying: " in fleet.run("bastion", "logs").stdout)
    assert "no room is left" in fleet.run("bastion", "logs").stdout


def test_a_full_disk_of_a_client_is_said(fleet: Fleet) -> None:
    fleet.create()
    no_room = ["-c", 'ulimit -f 0; exec "$@"', "sh"]
    said = fleet.run(
        "/bin/sh", *no_room, str(TOOLS / "launch"), "--resources=v4=1", "--bundler_type=none", "--", "true"
    )
    assert (said.returncode, said.stdout) == (1, "")
    assert "no room is left" in said.stderr
