"""`launch --dry_run` tells what the cluster would be asked for: just what is asked for in the end."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bastion.testing.stage import KEY, placement
from tests.kubernetes.fake.schemas import complaints
from tests.kubernetes.fleet import KubernetesFleet
from tests.kubernetes.test_whole_way import SETTINGS
from tests.support.fleet import Fleet, Said

NEVER = ("--", "never", "run")


class OneId:
    """The same name each time, also as a nonce."""

    def new(self) -> str:
        return "a" * 32

    def nonce(self, *_: object) -> str:
        return "a" * 32


def test_what_is_shown_is_what_is_asked_for(tmp_path: Path) -> None:
    fleet = KubernetesFleet(tmp_path, options={"queue": "team"}, kueue=True)
    try:
        fleet.runner.ids = fleet.runner.seal = OneId()
        wish = placement(KEY, resources={"h100": 16, "cpu": 8})
        shown = json.loads(fleet.runner.preview(wish))
        assert fleet.client.asked == 0
        fleet.runner.create(replace(wish, workers=2))
        (made,) = fleet.cluster.rows("JobSet")
        assert shown["spec"] == made["spec"]
        assert shown["metadata"].items() <= made["metadata"].items()
    finally:
        fleet.close()


def dry(folder: Path, settings: str, *words: str) -> tuple[Any, Said]:
    """The spec that is printed, and all that was."""
    fleet = Fleet(folder)
    fleet.put("config.toml", settings.encode())
    said = fleet.run("launch", "--dry_run", "--resources=cpu=2", *words)
    assert said.returncode == 0, said
    return json.loads(said.stdout), said


def test_a_dry_run_prints_the_manifest_beside_the_spec(tmp_path: Path) -> None:
    words = ("--bundler_type=docker", "--bundler_spec=image=registry.example/team/tools", "--num_replicas=3")
    spec, said = dry(tmp_path, SETTINGS, *words, *NEVER)
    assert spec["command"] == ["never", "run"]
    head, _, text = said.stderr.partition("\n")
    assert head == "the runner kubernetes would send:"
    body = json.loads(text)
    assert complaints(body) == []
    job = body["spec"]["replicatedJobs"][0]["template"]["spec"]
    assert job["completions"] == 3
    (container,) = job["template"]["spec"]["containers"]
    assert container["image"] == "registry.example/team/tools@sha256:DIGEST"
    assert container["resources"]["requests"] == {"cpu": "2"}


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ('runners = ["kubernetes"]', "cannot be shown: runner_options.kubernetes: image is missing"),
        (SETTINGS.replace("kubernetes", "elsewhere"), ""),
        ('runners = ["local"]', ""),
    ],
)
def test_a_dry_run_needs_no_runner(tmp_path: Path, settings: str, told: str) -> None:
    _, said = dry(tmp_path, settings, "--bundler_type=none", *NEVER)
    assert told in said.stderr
    assert ("runner" in said.stderr) == bool(told)


def test_a_script_of_slurms_is_shown_too(tmp_path: Path) -> None:
    settings = 'runners = ["slurm", "kubernetes"]\n[placing]\ncpu = "slurm"\n[runner_options.slurm]\npartition = "long"'
    _, said = dry(tmp_path, settings, "--bundler_type=none", *NEVER)
    assert said.stderr.startswith("the runner slurm would send:\nsbatch --parsable")
    assert "--partition=long" in said.stderr
    assert said.stderr.endswith("exit $code\nEOF\n")
