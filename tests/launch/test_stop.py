"""Stopping is a request of the one whose job it is."""

from __future__ import annotations

import pytest

from bastion.model import layout
from bastion.model.stored.requests import Cancel, parse
from tests.support.bench import Bench


def cancels(bench: Bench, user: str) -> list[Cancel]:
    requests = [parse(bench.bucket.read(stat.key).data) for stat in bench.bucket.list(f"{layout.INBOX}{user}/")]
    return [request for request in requests if isinstance(request, Cancel)]


@pytest.mark.parametrize(("word", "task"), [("sweep", None), ("sweep[3]", 3)])
def test_a_stop_asks_for_the_job_or_one_task_of_it(bench: Bench, word: str, task: int | None) -> None:
    job = bench.submit("--name=sweep", "--count=5", "--json", "--", "x").json["id"]

    said = bench.launch("stop", word, "--user_id=alice")

    assert (said.code, said.out) == (0, "sweep\n")
    assert cancels(bench, "alice") == [Cancel(job=job, task=task)]


def test_somebody_elses_job_is_left_alone(bench: Bench) -> None:
    bench.submit("--name=j", "--", "x")

    said = bench.launch("stop", "j", "--user_id=bob", "--json")

    assert said.code == 1
    assert "belongs to alice; only alice and admins may stop it" in said.error
    assert cancels(bench, "bob") == []


@pytest.mark.parametrize("command", ["stop", "logs", "why", "wait", "show"])
def test_an_unknown_job_is_102_with_the_nearest(bench: Bench, command: str) -> None:
    bench.submit("--name=train", "--", "x")

    said = bench.launch(command, "trian", "--json")

    assert said.code == 102
    assert said.error == "no job 'trian'; did you mean train?"


def test_with_json_nothing_but_json_is_printed(bench: Bench) -> None:
    job = bench.submit("--name=train", "--json", "--", "x").json["id"]

    for argv in (
        ["wait", "train", "--timeout=0"],
        ["stop", "train", "--user_id=alice"],
        ["why", "train"],
        ["show", "train"],
    ):
        said = bench.launch(*argv, "--json")

        assert said.err == ""
        assert said.json
    assert bench.launch("wait", "train", "--timeout=0", "--json").json == {"id": job, "name": "train", "exit_code": 101}
