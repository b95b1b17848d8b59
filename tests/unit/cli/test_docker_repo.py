"""Images that name no registry go where the profile or the bastion's settings say."""

from __future__ import annotations

from pathlib import Path

import pytest

from bastion.cli.common.bundler_settings import named, settings_of
from tests.support.bench import Bench


@pytest.mark.parametrize(
    ("texts", "repo", "name"),
    [
        (["image=train"], "docker.io/team", "docker.io/team/train"),
        (["image=train", "repo=ghcr.io/other"], "docker.io/team", "ghcr.io/other/train"),
        (["image=ghcr.io/other/train"], "docker.io/team", "ghcr.io/other/train"),
        (["image=sub/train"], "docker.io/team", "docker.io/team/sub/train"),
    ],
)
def test_the_usual_registry_is_for_images_without_one(texts: list[str], repo: str, name: str) -> None:
    assert named(settings_of("docker", texts, repo))[0] == name


def test_who_says_the_usual_registry(tmp_path: Path) -> None:
    """The settings; before them the profile, before it the environment. Without anybody it is asked for."""
    bench = Bench(tmp_path / "bucket")
    words = ("--user_id=alice", "--bundler_type=docker", "--bundler_spec=image=train", "--dry_run", "--", "x")
    assert "names no registry" in bench.launch(*words).err
    bench.bucket.write("config.toml", b'docker_repo = "docker.io/team"\n')
    assert bench.launch(*words).code == 0
    assert bench.bastion("config", "add", "p", "--docker_repo=Bad Name", "--bucket=file:///x", "--bastion=b").code == 0
    assert "Bad Name" in bench.launch(*words).err
    bench.environ["BASTION_DOCKER_REPO"] = "docker.io/mine"
    assert bench.launch(*words).code == 0
    assert "DOCKER_REPO" in bench.bastion("config", "list").out


def test_a_setting_that_is_no_registry_is_refused(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "bucket")
    bench.environ["BASTION_USER"] = "root"
    said = bench.bastion("config", "set", "docker_repo=team", "--yes")
    assert (said.code, "docker_repo is 'team/name', which names no registry" in said.err) == (1, True), said
