"""The folder as an image: built by the machine's own engine, pushed to a real registry, and run by its digest."""

from __future__ import annotations

import json
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bastion.bundler.interface import Bundle
from bastion.cli.common.bundler_settings import settings_of
from bastion.cli.common.image_bundling import image_bundler
from bastion.model.errors import BastionError, BundleError
from bastion.platform.system import SystemClock
from bastion.stores.memory import MemoryBucket
from tests.images.folders import Code
from tests.support.bench import Bench
from tests.support.engine import Engine, printed

MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"


def packed(code: Code, *settings: str, kind: str = "docker", said: list[str] | None = None) -> Bundle:
    """The bundle of a folder, as the command line makes it."""
    lines = [] if said is None else said
    nothing: Any = None
    wanted = settings_of(kind, settings)
    bundler = image_bundler(wanted, SystemClock(), lines.append, tar=nothing, url_of=lambda key: "file:///x", wait=True)
    return bundler.bundle(code.folder, MemoryBucket("memory://images"))


def digest_of(host: str, path: str, tag: str) -> str:
    """What the registry itself says."""
    asked = urllib.request.Request(f"http://{host}/v2/{path}/manifests/{tag}", headers={"Accept": MANIFEST})
    with urllib.request.urlopen(asked, timeout=180) as answer:
        return str(answer.headers["Docker-Content-Digest"]).removeprefix("sha256:")


def tags_of(host: str, path: str) -> Iterator[str]:
    with urllib.request.urlopen(f"http://{host}/v2/{path}/tags/list", timeout=180) as answer:
        yield from json.load(answer)["tags"]


def test_a_folder_is_built_pushed_and_runs_by_its_digest(led: Engine, registry_host: str, code: Code) -> None:
    said: list[str] = []
    name = f"{registry_host}/team/whole"
    wanted = (f"repo={registry_host}/team", "image=whole", "target=late", "GREETING=a word", "platform=linux/amd64")
    bundle = packed(code, *wanted, said=said)
    assert (bundle.type, bundle.image, bundle.build, bundle.key) == ("image", name, "", "")
    (tag,) = tags_of(registry_host, "team/whole")
    assert bundle.digest == digest_of(registry_host, "team/whole", tag)
    assert any(line.startswith("Step 1/") for line in said), "what the engine does is told on the way"
    assert "made with a word" in said
    pinned = f"{name}@sha256:{bundle.digest}"
    ran = printed(led, pinned, "./say.sh", "7")
    assert ran == "says made with a word, stage late, code 7\n"
    assert led.client.images.get(pinned).attrs["Architecture"] == "amd64"


def test_the_same_folder_is_the_same_image_and_another_another(led: Engine, registry_host: str, code: Code) -> None:
    wanted = (f"image={registry_host}/same", "target=early")
    first, said = packed(code, *wanted), list[str]()
    assert packed(code, *wanted).digest == first.digest
    (tag,) = tags_of(registry_host, "same")
    led.client.images.remove(f"{first.image}:{tag}", force=True)
    led.client.images.prune()
    again = packed(code, *wanted, f"cache_from={first.image}:{tag},{first.image}:gone", said=said)
    assert again.digest == first.digest
    assert sum("Using cache" in line for line in said) >= 1
    assert any(line.startswith(f"no layer of {first.image}:gone is reused") for line in said)
    (code.folder / "say.sh").write_text("#!/bin/sh\n")
    code.commit()
    assert packed(code, *wanted).digest != first.digest


def test_a_dirty_folder_is_refused_and_taken_when_that_is_said(led: Engine, registry_host: str, code: Code) -> None:
    wanted = (f"image={registry_host}/dirty", "target=late")
    (code.folder / "say.sh").write_text("#!/bin/sh\necho changed\n")
    (code.folder / "new.txt").write_text("new\n")
    with pytest.raises(BundleError, match=r"changes that are not committed: say\.sh, new\.txt; commit them, or take"):
        packed(code, *wanted)
    bundle = packed(code, *wanted, "allow_dirty=true")
    assert bundle.notes == ("uncommitted changes go into the image: say.sh, new.txt",)
    ran = printed(led, f"{bundle.image}@sha256:{bundle.digest}")
    assert ran == "changed\n"


def test_changes_beside_the_folder_are_in_nobodys_way(led: Engine, registry_host: str, tmp_path: Path) -> None:
    outer = Code(tmp_path / "outer")
    inner = outer.folder / "inner"
    inner.mkdir()
    (inner / "Dockerfile").write_text("FROM scratch\nCOPY a /a\n")
    (inner / "a").write_text("a\n")
    outer.commit()
    (outer.folder / "say.sh").write_text("changed\n")
    outer.folder = inner
    assert packed(outer, f"image={registry_host}/inner").digest
    (inner / "a").write_text("changed\n")
    with pytest.raises(BundleError, match="not committed: inner/a"):
        packed(outer, f"image={registry_host}/inner")


def test_a_folder_without_a_repository_is_built_and_that_is_told(
    led: Engine, registry_host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "Dockerfile").write_text("FROM scratch\nLABEL a=b\nENV A=b\n")
    code = Code(tmp_path / "elsewhere")
    code.folder = plain
    (note,) = packed(code, f"image={registry_host}/plain").notes
    assert "is not in a git repository" in note


def test_a_step_that_fails_is_an_error_with_its_last_words(led: Engine, registry_host: str, code: Code) -> None:
    with pytest.raises(BundleError, match=r"exit 7' returned a non-zero code: 7; before that: .*about to fall"):
        packed(code, f"image={registry_host}/broken", "target=broken")


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("GRETING=x", "no such ARG; did you mean GREETING?"),
        ("dockerfil=x", "no such ARG; did you mean dockerfile?"),
        ("target=lat", "no stage 'lat'; did you mean late?"),
        ("target=3", "no stage '3'"),
        ("dockerfile=Dockerfile.gpu", "name it with --bundler_spec=dockerfile=PATH"),
        ("dockerfile=../Dockerfile", "use a path below the folder"),
        ("dockerfile=.dockerignore", "has no FROM"),
    ],
)
def test_what_the_dockerfile_does_not_know_is_said_before_anything_is_built(
    code: Code, setting: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nobody/here")
    with pytest.raises(BundleError, match=says.replace("?", r"\?")):
        packed(code, "image=gcr.io/a", setting)


def test_no_engine_no_registry_and_no_right_are_told_apart(
    led: Engine, registry_host: str, code: Code, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(BundleError, match=r"pushing 127\.0\.0\.1:1/x: .*connection refused"):
        packed(code, "image=127.0.0.1:1/x", "target=early")
    monkeypatch.setenv("DOCKER_HOST", "unix:///nobody/here")
    with pytest.raises(BundleError, match="no Docker engine answers at unix:///nobody/here; start one"):
        packed(code, f"image={registry_host}/x", "target=early")


def test_an_image_that_is_there_is_taken_as_its_tag_names_it_now(led: Engine, registry_host: str, code: Code) -> None:
    built = packed(code, f"image={registry_host}/there", "target=late")
    (tag,) = tags_of(registry_host, "there")
    taken = packed(code, f"image={registry_host}/there:{tag}", "skip_bundle=true")
    assert (taken.image, taken.digest) == (built.image, built.digest)
    with pytest.raises(BundleError, match="check the name and the tag"):
        packed(code, f"image={registry_host}/there:nothing", "skip_bundle=true")


def test_both_tools_bundle_without_launching(
    led: Engine, registry_host: str, code: Code, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path / "bucket")
    monkeypatch.chdir(code.folder)
    words = ("bundle", "--bundler_type=docker", f"--bundler_spec=image={registry_host}/tools")
    words = (*words, "--bundler_spec=target=late")
    one, other = bench.launch(*words), bench.bastion(*words)
    (tag,) = tags_of(registry_host, "tools")
    pinned = f"{registry_host}/tools@sha256:{digest_of(registry_host, 'tools', tag)}\n"
    assert (one.code, one.out, other.code, other.out) == (0, pinned, 0, pinned)
    assert "Step 1/" in one.err
    told = bench.launch(*words, "--json").json
    assert (told["type"], told["image"], f"{told['image']}@sha256:{told['digest']}\n") == (
        "image",
        f"{registry_host}/tools",
        pinned,
    )
    assert bench.objects() == ["config.toml", "project-quotas/project-quotas.config"], "no job, and nothing uploaded"


def test_a_job_names_its_image(led: Engine, registry_host: str, code: Code, tmp_path: Path) -> None:
    bench = Bench(tmp_path / "bucket")
    image = f"--bundler_spec=image={registry_host}/job"
    source = f"--bundler_spec=source={code.folder}"
    words = (
        "--user_id=alice",
        "--project_id=nlp",
        "--bundler_type=docker",
        image,
        source,
        "--bundler_spec=target=late",
    )
    assert bench.launch(*words, "--name=n", "--", "./say.sh").code == 0
    bundle = bench.launch("show", "n", "--json").json["spec"]["bundle"]
    assert (bundle["type"], bundle["image"], len(bundle["digest"])) == ("image", f"{registry_host}/job", 64)
    refused = bench.launch(*words, "--setup=pip install x", "--", "./say.sh")
    assert "put the setup into the Dockerfile" in refused.err


def test_a_missing_package_says_which(code: Code, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "docker", None)
    with pytest.raises(BastionError, match=r"pip install 'bastion-scheduler\[docker\]'"):
        packed(code, "image=gcr.io/a", "target=early")
