"""`bastion simulate`: the contract for scripts, the table for people, the page, and what is wrong usage."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.bench import Bench

QUOTA = """\
[toml-schema]
version = "1"
[total_resources]
gpu = 8
[project_resources.nlp]
gpu = 0.5
[project_resources.vision]
gpu = 0.5
"""
TRACE = """\
submit_s,duration_s,gpus,project,user,priority
0,7200,8,nlp,,
1000,3600,4,vision,,
1000,60,9,vision,,
1000,60,1,robots,,
"""


class Town:
    """A bench that has a trace and a quota file on its disk."""

    def __init__(self, bench: Bench, folder: Path) -> None:
        self.bench, self.folder = bench, folder
        self.writes("trace.csv", TRACE)
        self.writes("quota.toml", QUOTA)

    def writes(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def __call__(self, *words: str):  # type: ignore[no-untyped-def]
        files = [f"--trace={self.folder / 'trace.csv'}", f"--quota={self.folder / 'quota.toml'}"]
        return self.bench.bastion("simulate", *files, *words)


@pytest.fixture
def simulate(bench: Bench, tmp_path: Path) -> Town:
    return Town(bench, tmp_path)


def test_the_contract_for_scripts(simulate: Town) -> None:
    words = "--policy=axlearn --capacity=gpu=8 --resource=gpu --checkpoint=10m --restart=0s --until=28d --big=8 --json"
    numbers = simulate(*words.split()).json

    assert numbers.pop("seconds") > 0
    assert numbers == {
        "policy": "axlearn",
        "jobs": 2,
        "utilisation": round((8 * 1000 + 4 * 3600 + 8 * 6600) / (8 * 28 * 86400), 6),
        "wait_h": {"mean": 0.5, "p50": 0.0, "p95": 1.0, "p99": 1.0},
        "preemptions": 1,
        "worst_job_preemptions": 1,
        "lost_gpu_hours": 0.8889,
        "share_violation_gpu_hours": 0.0,
        "idle_though_fits": 0.0,
        "big_gang_wait_h": {"p50": 1.0, "max": 1.0},
        "by_size": {"4": {"p95": 0.0}, "8": {"p95": 1.0}},
        "wait_h_by_size": {"4": {"p50": 0.0, "p95": 0.0, "max": 0.0}, "8": {"p50": 1.0, "p95": 1.0, "max": 1.0}},
        "decisions": 5,
        "unfinished": 0,
        "unrunnable": {
            "larger_than_pool": 1,
            "unknown_project": 1,
            "not_a_member": 0,
            "class_not_granted": 0,
            "after_the_window": 0,
        },
    }


def test_without_more_words_it_is_the_default_policy_to_the_end(simulate: Town) -> None:
    numbers = simulate("--json").json

    assert (numbers["policy"], numbers["wait_h"]["p50"]) == ("default", 0.025)


def test_the_same_trace_gives_the_same_numbers(simulate: Town) -> None:
    first, second = ({**simulate("--json").json, "seconds": 0} for _ in range(2))

    assert json.dumps(first) == json.dumps(second)


def test_several_policies_are_a_list(simulate: Town) -> None:
    assert [one["policy"] for one in simulate("--policy=default,axlearn,default", "--json").json] == [
        "default",
        "axlearn",
    ]


def test_the_table_shows_runs_side_by_side_and_by_how_much_they_differ(simulate: Town) -> None:
    heads, *lines = simulate("--policy=axlearn,default").out.splitlines()
    rows = {cells[0]: cells[1:] for line in lines if (cells := re.split(r" {2,}", line))}

    assert heads.split() == ["NUMBER", "axlearn", "default", "CHANGE"]
    assert rows["gpu-hours lost"] == ["0.89", "1.09", "+0.20 (+22%)"]
    assert rows["preemptions"] == ["1", "1", "="]
    assert rows["nlp: hours waited, mean"] == ["1.00", "1.00", "="]
    assert lines[-4:] == [
        "axlearn: 1 jobs ask for more than the fleet has; left out",
        "axlearn: 1 jobs belong to a project that the quota file does not have; left out",
        "default: 1 jobs ask for more than the fleet has; left out",
        "default: 1 jobs belong to a project that the quota file does not have; left out",
    ]


def test_one_policy_has_nothing_to_be_compared_with(simulate: Town) -> None:
    assert simulate().out.splitlines()[0].split() == ["NUMBER", "default"]


def test_a_second_table_shows_the_waits_of_each_size_in_order(simulate: Town) -> None:
    jobs = [f"{1000 + 10 * number},3600,4,vision,," for number in range(4)]  # three fit beside nlp's
    simulate.writes("trace.csv", "\n".join([TRACE.splitlines()[0], "0,72000,4,nlp,,", *jobs, "90000,60,16,nlp,,"]))
    simulate.writes("quota.toml", QUOTA.replace("gpu = 8", "gpu = 16"))
    sizes = simulate("--policy=axlearn,default").out.split("\n\n")[1].splitlines()

    assert [re.split(r" {2,}", line) for line in sizes] == [
        ["HOURS WAITED", "axlearn: p50", "p95", "max", "default: p50", "p95", "max"],
        ["4 gpu", "0.00", "0.99", "0.99", "0.00", "0.99", "0.99"],
        ["16 gpu", *["0.00"] * 6],
    ]
    assert simulate().out.split("\n\n")[1].splitlines()[0].split() == [*"HOURS WAITED default: p50 p95 max".split()]
    assert list(simulate("--json").json["wait_h_by_size"]) == ["4", "16"]


def test_the_plot_is_one_page_that_asks_for_nothing(simulate: Town, tmp_path: Path) -> None:
    page = tmp_path / "out.html"
    assert simulate("--policy=axlearn,default", f"--plot={page}").err == f"plotted in {page}\n"
    text = page.read_text()

    assert text.startswith("<!doctype html>")
    assert text.count("<svg") == 2 * 3  # of each policy all in use, and both projects against their shares
    assert "<script" not in text
    assert "default-src 'none'" in text
    loads = re.findall(r"(?:src|href|@import|url)\s*[=(]\s*[\"']?([^\"')>\s]+)", text)
    assert [where for where in loads if not where.startswith("#")] == []
    assert {"nlp", "vision", "there is", "share", "used", "borrowed"} <= set(re.findall(r">([^<>]+)</text>", text))
    assert "gpu-hours lost" in text


def test_the_plot_draws_what_was_borrowed(simulate: Town, tmp_path: Path) -> None:
    simulate("--policy=axlearn", "--until=1000s", f"--plot={tmp_path / 'out.html'}")
    text = (tmp_path / "out.html").read_text()

    # All the time nlp holds 8, of which 4 are not its own.
    used, borrowed = (
        text.split("nlp: gpu</title>")[1].split(f'serie-{n} color-{n}"><g class="dots">')[1] for n in (0, 1)
    )
    assert set(re.findall(r'class="value">([^<]*)<', used.split('<g class="series')[0])) == {"8"}
    assert set(re.findall(r'class="value">([^<]*)<', borrowed.split('<g class="series')[0])) == {"4"}


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--policy=fifo",), "--policy has 'fifo'; use default, axlearn"),
        (("--policy=axlern",), "--policy has 'axlern'; did you mean axlearn?"),
        (("--trace=",), "--trace is missing; name a file"),
        (("--quota=",), "--quota is missing; name a file"),
        (("--resource=gpus",), "--resource is 'gpus'; did you mean gpu?"),
        (("--checkpoint=0",), "--checkpoint is 0; use a length of time above 0"),
        (("--checkpoint=ten",), "--checkpoint is 'ten'; use a number and a unit"),
        (("--restart=99999999d",), "--restart is '99999999d'; use at most 36500d"),
        (("--until=-1d",), "--until is '-1d'"),
        (("--until=0",), "--until is 0; use a length of time above 0, as in 10m or 28d"),
        (("--tick=1",), "--tick is '1'"),
        (("--big=many",), "--big is 'many'; use a whole number"),
    ],
)
def test_a_mistake_is_wrong_usage(simulate: Town, words: tuple[str, ...], complaint: str) -> None:
    said = simulate(*words)

    assert (said.code, said.out) == (2, "")
    assert complaint in said.err


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("trace.csv", TRACE + "5,x,1,nlp,,\n", "trace.csv: line 6: duration_s is 'x'; use seconds"),
        ("trace.csv", "", "trace.csv: line 1: lacks submit_s"),
        ("trace.csv", TRACE.splitlines()[0], "trace.csv: line 1: the trace has no jobs"),
        ("trace.csv", TRACE.splitlines()[0] + "\n0,1,99,nlp,,", "no job can be run: 1 ask for more than the fleet has"),
        ("quota.toml", QUOTA + "x = 1\n", "quota.toml: line 9: project_resources.vision.x"),
    ],
)
def test_a_bad_file_is_named_with_its_line(simulate: Town, name: str, text: str, complaint: str) -> None:
    simulate.writes(name, text)
    said = simulate()

    assert (said.code, said.out) == (1, "")
    assert complaint in said.err


def test_bytes_that_are_no_text_are_an_error(simulate: Town, tmp_path: Path) -> None:
    (tmp_path / "trace.csv").write_bytes(TRACE.encode() + b"0,1,1,n\xfflp,,\n")
    said = simulate()

    assert said.code == 1
    assert f"{tmp_path / 'trace.csv'}: not UTF-8" in said.err


def test_of_several_kinds_one_is_to_be_named(simulate: Town) -> None:
    simulate.writes("quota.toml", QUOTA.replace("gpu = 8", "gpu = 8\ncpu = 4"))

    assert "--resource is not given; use gpu or cpu" in simulate().err
    assert simulate("--resource=gpu", "--json").json["jobs"] == 2
