"""`launch ls`: which jobs are shown, and in which form."""

from __future__ import annotations

import csv
import json

import pytest

from bastion.journal.journal import Journal
from bastion.launcher.read.job_rows import CSV_HEADS
from bastion.model.state.state import Cause, JobState, State
from bastion.model.stored.events import CapacityChanged, Claimed, Ended, Gone, Started, Submitted
from bastion.platform.system import RandomIds, SystemClock
from tests.support.bench import Bench
from tests.support.world import spec


@pytest.fixture
def busy(bench: Bench) -> Bench:
    """Alice's failed and running jobs in nlp, and bob's that waits in vision."""
    clock = SystemClock()
    journal = Journal(bench.bucket, clock, RandomIds(), State())
    journal.begin(clock.wall())
    journal.add(CapacityChanged(runner="local", resources={"v4": 8, "cpu": 4}))
    for name, user, project in (("failed", "alice", "nlp"), ("running", "alice", "nlp"), ("waiting", "bob", "vision")):
        wanted = spec(
            name=name, user=user, project=project, resources={"v4": 8 if name == "waiting" else 4},
            labels={"team": "rl" if user == "alice" else "vision", "run": name},
        )  # fmt: skip
        journal.add(Submitted(request=f"{user}/{name}", job=f"{name}-0", spec=wanted))
    for job in ("failed-0", "running-0"):
        journal.add(Started(job=job, task=0, attempt=0, runner="local", tier=0, workers=1))
        journal.add(Claimed(job=job, task=0, attempt=0, worker=0, machine="m", address="10.0.0.7"))
    journal.add(Gone(job="failed-0", task=0, attempt=0, worker=0))
    journal.add(Ended(job="failed-0", task=0, attempt=0, cause=Cause.CODE, outcome=JobState.FAILED, reason="bad, very",
                      exit_code=3))  # fmt: skip
    journal.commit()
    return bench


def names(bench: Bench, *words: str) -> list[str]:
    """The names of the jobs that are shown."""
    said = bench.launch("ls", *words, "--json")
    assert said.code == 0, said
    return [job["name"] for job in said.json["jobs"]]


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("--user_id=alice",), ["running"]),
        (("-u", "bob"), ["waiting"]),
        (("-ubob,alice", "--user_id=bob"), ["waiting", "running"]),
        (("-u", "alice", "-s", "failed"), ["failed"]),
        (("-u", "alice", "-s", "failed,RUNNING"), ["failed", "running"]),
        (("--all",), ["failed", "running", "waiting"]),
        (("--all", "--user_id=bob"), ["waiting", "failed", "running"]),
        (("--all", "-u", "alice"), ["failed", "running"]),
        (("--all", "-p", "vision"), ["waiting"]),
        (("--all", "--project-id=nlp", "-n1"), ["running"]),
        (("--all", "--label=team=rl"), ["failed", "running"]),
        (("--all", "--label=team=rl", "--label", "run=running"), ["running"]),
        (("--all", "--label=team="), []),
        (("--all", "--since=1h"), ["failed", "running", "waiting"]),
        (("--all", "--since=2999-01-01T00:00:00Z"), []),
    ],
)
def test_filters_narrow_what_is_shown(busy: Bench, words: tuple[str, ...], shown: list[str]) -> None:
    assert names(busy, *words) == shown


def test_a_row_has_the_labels_of_its_job(busy: Bench) -> None:
    (row,) = busy.launch("ls", "--all", "--label=run=running", "--json").json["jobs"]
    assert row["labels"] == {"team": "rl", "run": "running"}


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("-s", "runing"), "'runing' is not a state; did you mean RUNNING?"),
        (("-n0",), "--limit is 0; use 1 or more"),
        (("--since=yesterday",), "--since is 'yesterday'; use a number and a unit"),
        (("--label=team",), "--label is 'team'; use --label NAME=VALUE"),
        (("--label=",), "--label is ''; use --label NAME=VALUE"),
        (("--label==rl",), "--label is '=rl'; use --label NAME=VALUE"),
        (("--label=team=a", "--label=team=b"), "--label gives team two values; give it one"),
        (("--label=team=r l",), "--label has 'team=r l'; for names and values use 1 to 63 letters"),
        (("-o", "jsn"), "--output is 'jsn'; did you mean json?"),
        (("--json", "-ocsv"), "--json and --output=csv ask for two formats"),
    ],
)
def test_a_mistake_is_wrong_usage(busy: Bench, words: tuple[str, ...], complaint: str) -> None:
    said = busy.launch("ls", *words)

    assert (said.code, said.out) == (2, "")
    assert complaint in said.err


def test_a_name_of_nobody_is_answered_with_the_nearest(busy: Bench) -> None:
    said = busy.launch("ls", "-u", "alcie")

    assert (said.code, said.err) == (0, "user alcie has no job here; did you mean alice?\n")


@pytest.mark.parametrize("words", [("-o", "json"), ("-ojson",), ("--output=json",), ("--json",)])
def test_json_can_be_asked_for_in_two_ways(busy: Bench, words: tuple[str, ...]) -> None:
    assert busy.launch("ls", "--all", *words).json.keys() == {"schema", "jobs", "bastion"}
    assert "runing" in busy.launch("ls", "-s", "runing", *words).error


def test_csv_has_stable_names_and_a_row_for_each_job(busy: Bench) -> None:
    said = busy.launch("ls", "--all", "-o", "csv")
    failed, running, waiting = csv.DictReader(said.out.splitlines())

    assert tuple(failed) == CSV_HEADS
    assert (failed["id"], failed["state"], failed["reason"], failed["exit_code"]) == (
        "failed-0",
        "FAILED",
        "bad, very",
        "3",
    )
    assert failed["ended"].endswith("Z")
    assert (running["where"], running["resources"], running["attempts"]) == ("local/10.0.0.7", "v4=4", "1")
    assert (waiting["started"], waiting["runtime_s"], waiting["exit_code"], waiting["attempts"]) == ("", "", "", "0")


def test_wide_shows_times_and_ends(busy: Bench) -> None:
    heads, failed, running, waiting, _ = busy.launch("ls", "--all", "-o", "wide").out.splitlines()

    assert {"STARTED", "ENDED", "RUNTIME", "ATTEMPTS", "REPLICAS", "EXIT", "ID"} <= set(heads.split())
    assert failed.split()[-4:] == ["3", "failed-0", "bad,", "very"]
    assert running.split()[-3:] == ["-", "running-0", "local/10.0.0.7"]
    assert " waiting-0  needs 8 v4" in waiting


def test_no_line_is_longer_than_a_terminal_of_40_columns(busy: Bench) -> None:
    busy.environ["COLUMNS"] = "40"
    lines = busy.launch("ls", "--all", terminal=True).out.splitlines()

    assert max(map(len, lines)) <= 40
    assert [line.split()[:2] for line in lines if "-0" in line and line[0] != " "] == [
        ["failed-0", "FAILED"], ["running-0", "RUNNING"], ["waiting-0", "PENDING"]
    ]  # fmt: skip
    assert any(line.startswith("  needs 8 v4") for line in lines)


def test_one_json_object_is_one_line(busy: Bench) -> None:
    assert json.loads(busy.launch("ls", "-o", "json").out.splitlines()[0])["schema"] == 1
