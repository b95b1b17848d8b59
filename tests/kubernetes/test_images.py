"""Jobs whose code comes in an image: their pods are of that image, and the worker comes into it from its own."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.errors import NotReady
from bastion.model.job.spec import BundleRef
from bastion.model.state.state import Cause
from bastion.testing.stage import KEY, SAVES, Stage, order, placement
from tests.kubernetes.fake.containers import Image
from tests.kubernetes.fake.server import IMAGE
from tests.kubernetes.fleet import KubernetesFleet

BUNDLE = BundleRef(type="image", image="registry.example/team/tools", digest="ab" * 32)
VARIABLES = {"PATH": "/tools:/bin", "FLAVOUR": "plain"}


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[KubernetesFleet]:
    """Its cluster can pull an image that has BusyBox and nothing else: no Python, no C library, no shell but that."""
    fleet = KubernetesFleet(tmp_path)
    with fleet.cluster.changed() as kubelet:
        kubelet.images[BUNDLE.pinned] = Image(busybox(tmp_path / "root"), "/app", VARIABLES)
    yield fleet
    fleet.close()


def busybox(root: Path) -> Path:
    """The file system of an image."""
    for folder in ("app", "bin", "dev", "etc", "proc", "tmp", "tools"):
        (root / folder).mkdir(parents=True)
    subprocess.run(["cp", str(shutil.which("busybox")), root / "bin/busybox"], check=True)
    for program in ("cat", "echo", "env", "pwd", "sh", "sleep"):
        (root / "bin" / program).symlink_to("busybox")
    (root / "app" / "words").write_text("from the image\n")
    return root


def begin(stage: Stage, command: list[str] | str, bundle: BundleRef = BUNDLE) -> None:
    """A job that comes in an image, as the bastion asks for it."""
    stage.bucket.write(layout.order(KEY), encode(order(KEY, command, bundle=bundle)))
    stage.runner.create(replace(placement(KEY), image=bundle.pinned))


def test_a_job_runs_in_its_own_image_by_a_worker_that_was_laid_into_it(fleet: KubernetesFleet) -> None:
    stage = Stage(fleet)
    begin(stage, "cat words; pwd; ls -d /usr 2>&1; env")
    facts = stage.ended()
    assert (facts.cause, facts.exit_code) == (Cause.OK, 0), stage.log()
    log, found = stage.log(), stage.environment()
    assert log.startswith("from the image\n/app\n")
    assert {name: found[name] for name in VARIABLES} == VARIABLES
    assert found["GREETING"] == "hello world"
    assert found["BASTION_JOB"] == KEY.job
    assert not {"BASTION_POD_UID", "JOB_COMPLETION_INDEX"} & found.keys()


def test_its_end_is_told_and_a_notice_reaches_it(fleet: KubernetesFleet) -> None:
    stage = Stage(fleet)
    begin(stage, ["sh", "-c", SAVES])
    fleet.until(lambda: "started" in stage.log(), "the program's first word")
    fleet.cluster.evict(stage.machine().id.split("/")[0])
    facts = stage.ended()
    assert (facts.cause, facts.exit_code) == (Cause.LOST, 9)
    assert stage.log().startswith("started\n")
    assert stage.log().endswith("saved\n")


def test_a_worker_in_another_image_says_so(fleet: KubernetesFleet) -> None:
    stage = Stage(fleet)
    other = replace_digest("cd" * 32)
    stage.bucket.write(layout.order(KEY), encode(order(KEY, "pwd", bundle=other)))
    stage.runner.create(replace(placement(KEY), image=BUNDLE.pinned))
    facts = stage.ended()
    assert facts.cause is Cause.SETUP
    assert f"this container has the image {BUNDLE.pinned}, but the job needs {other.pinned}" in facts.message


def replace_digest(digest: str) -> BundleRef:
    return BundleRef(type="image", image=BUNDLE.image, digest=digest)


def test_an_image_that_cannot_be_pulled_is_named(fleet: KubernetesFleet) -> None:
    stage = Stage(fleet)
    begin(stage, "pwd", replace_digest("cd" * 32))
    words = f'ImagePullBackOff: Back-off pulling image "{replace_digest("cd" * 32).pinned}"'
    fleet.until(lambda: not stage.machine().seen and stage.runner.waiting().get(KEY) == words, words)


def test_a_worker_that_cannot_be_laid_into_a_pod_is_told(fleet: KubernetesFleet) -> None:
    stage = Stage(fleet)
    with fleet.cluster.changed() as kubelet:
        kubelet.images[IMAGE] = kubelet.images[BUNDLE.pinned]
    begin(stage, "pwd")
    fleet.until(lambda: not stage.machines() and "failed" in stage.runner.waiting().get(KEY, ""), "the failure")
    said = stage.runner.waiting()[KEY]
    assert said.startswith("its container program failed: Error: ")
    assert "/usr/local/bastion/bin/python: not found" in said
    with fleet.cluster.changed() as kubelet:
        kubelet.images[IMAGE] = Image()

    def again() -> bool:
        with suppress(NotReady):
            stage.runner.create(replace(placement(KEY), image=BUNDLE.pinned))
        return bool(stage.machines())

    fleet.until(again, "another set")
    stage.ended()
    assert stage.log() == "/app\n"
