"""Jobs from an image: a real worker, a real Docker engine, and a real registry."""

from __future__ import annotations

import io
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bastion.model.interfaces import AttemptKey
from bastion.model.job.spec import BundleRef
from bastion.model.state.state import Cause
from bastion.model.stored.records import Order
from bastion.testing.stage import order
from tests.google.support.posted import Posted
from tests.support.engine import Engine, engine, registry

KEY = AttemptKey("train-12345678", 0, 0)
ACCOUNT = "nobody"
NAME = "bastion.train-12345678.0.0.0"


@dataclass(frozen=True)
class Shop:
    """An engine, and an image in its registry that it has not pulled."""

    engine: Engine
    bundle: BundleRef


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with registry(tmp_path_factory.mktemp("registry")) as host, engine(tmp_path_factory.mktemp("engine")) as running:
        yield Shop(running, _published(running, f"{host}/team/tools"))


def _published(running: Engine, name: str) -> BundleRef:
    """BusyBox and a folder, pushed, and removed from the engine."""
    busybox = shutil.which("busybox")
    assert busybox
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for program in ("sh", "cat", "echo", "id", "pwd", "sleep", "touch"):
            archive.add(busybox, f"bin/{program}")
        for folder, mode in (("tmp", 0o1777), ("app", 0o755)):
            member = tarfile.TarInfo(folder)
            member.type, member.mode = tarfile.DIRTYPE, mode
            archive.addfile(member)
    image = running.client.api.import_image_from_data(packed.getvalue(), repository=name, changes=["WORKDIR /app"])
    assert image
    running.client.images.push(name, tag="latest")
    found = running.client.images.get(f"{name}:latest")
    digest = found.attrs["RepoDigests"][0].rpartition("@sha256:")[2]
    running.client.images.remove(f"{name}:latest", force=True)
    return BundleRef(type="image", image=name, digest=digest)


@pytest.fixture
def posted() -> Iterator[Posted]:
    """In a folder that other accounts get to."""
    folder = Path(tempfile.mkdtemp(prefix="bastion-image-"))
    folder.chmod(0o755)
    yield Posted(folder, KEY)
    shutil.rmtree(folder)


def of_image(shop: Shop, command: list[str] | str, posted: Posted, **changes: object) -> Order:
    return order(KEY, command, bundle=shop.bundle, output_dir=str(posted.folder / "out"), **changes)


def environ(shop: Shop) -> dict[str, str]:
    return {"DOCKER_HOST": shop.engine.address}


SEES = """
id -u; pwd; echo "$HOME"; echo "$PEM"; echo "$BASTION_JOB $RANK $PATH"
touch "$TMPDIR/mine" "$BASTION_OUTPUT_DIR/mine" && echo wrote
echo '{"step": 4}' >>"$BASTION_PROGRESS_FILE"; cat "$BASTION_WORLD_FILE" >/dev/null && echo world
echo complaint >&2; exit 7
"""


def test_a_job_runs_in_its_image_as_its_account_and_leaves_nothing(shop: Shop, posted: Posted) -> None:
    (posted.folder / "out").mkdir(mode=0o777)
    (posted.folder / "out").chmod(0o777)
    with posted.running(
        of_image(shop, SEES, posted, env={"PEM": "a\nb=c"}), environ=environ(shop), run_as=ACCOUNT
    ) as process:
        facts = posted.ended()
        assert process.wait() == 7, (facts, posted.log())
    assert (facts.cause, facts.exit_code, facts.step) == (Cause.CODE, 7, 4)
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    said = ["65534", "/app", f"{posted.work}/tmp", "a", "b=c", f"{KEY.job} 0 {path}", "wrote", "world", "complaint"]
    lines = posted.log().splitlines()
    assert [line for line in lines if line != "complaint"] == said[:-1]
    assert "complaint" in lines  # the engine carries errors beside the output, and not in its order
    assert (posted.folder / "out" / "mine").stat().st_uid == 65534
    assert shop.engine.client.containers.list(all=True) == []


def test_a_stop_tells_every_process_and_kills_what_outlasts_its_grace(shop: Shop, posted: Posted) -> None:
    inner = "(trap 'echo inner; exit' TERM; echo ready; while :; do sleep 0.1; done)"
    command = f"trap 'echo outer' TERM; {inner} & while :; do wait; done"
    with posted.running(of_image(shop, command, posted), environ=environ(shop)) as process:
        posted.until(lambda: "ready" in posted.log(), "word")
        posted.stop(grace_s=8.0)
        facts = posted.ended()
        process.wait()
    assert (facts.cause, facts.exit_code) == (Cause.CANCELLED, 137)
    assert {"inner", "outer", "ready"} <= set(posted.log().split())
    assert shop.engine.client.containers.list(all=True) == []


def test_the_container_of_a_worker_that_falls_is_removed_and_its_log_is_ended(shop: Shop, posted: Posted) -> None:
    with posted.running(of_image(shop, "echo ready; sleep 1000", posted), environ=environ(shop)) as process:
        posted.until(lambda: "ready" in posted.log(), "word")
        posted.fell(process)
        facts = posted.ended()
        process.wait()
    assert facts.cause is Cause.LOST
    assert shop.engine.client.containers.list(all=True) == []


def test_what_stands_in_the_way_of_a_name_is_removed(shop: Shop, posted: Posted) -> None:
    shop.engine.client.images.pull(shop.bundle.pinned)
    shop.engine.client.containers.create(shop.bundle.pinned, ["sleep", "1"], name=NAME)
    with posted.running(of_image(shop, ["echo", "here"], posted), environ=environ(shop)):
        assert posted.ended().exit_code == 0
    assert posted.log() == "here\n"


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        ({"command": ["no-such-program"]}, 127, "no-such-program"),
        ({"setup": "true"}, None, "--setup does not run in an image; put the setup into the Dockerfile"),
        ({"digest": "0" * 64}, None, "is it there, and may this machine read it?"),
    ],
)
def test_what_cannot_be_run_is_said(
    shop: Shop, posted: Posted, changes: dict[str, str], code: int | None, words: str
) -> None:
    command, setup = changes.get("command", "true"), changes.get("setup", "")
    bundle = BundleRef(type="image", image=shop.bundle.image, digest=changes.get("digest", shop.bundle.digest))
    with posted.running(order(KEY, command, bundle=bundle, setup=setup), environ=environ(shop)):
        facts = posted.ended()
    assert (facts.cause, facts.exit_code) == (Cause.SETUP if code is None else Cause.CODE, code)
    assert words in facts.message
    assert shop.engine.client.containers.list(all=True) == []


def test_a_machine_without_an_engine_says_so(posted: Posted) -> None:
    bundle = BundleRef(type="image", image="localhost/x", digest="0" * 64)
    with posted.running(order(KEY, "true", bundle=bundle), environ={"DOCKER_HOST": "unix:///nowhere/socket"}):
        facts = posted.ended()
    assert facts.cause is Cause.SETUP
    assert "no Docker engine answers at /nowhere/socket" in facts.message


def test_these_run_as_root() -> None:
    assert os.geteuid() == 0
