"""A VM with a GPU boots on the fake cloud: its worker finds the GPU, and gives its job notice when the VM is shut down."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from bastion.model.state.state import Cause
from bastion.platform.shell import SystemShell
from bastion.runners.delivery.archive import Archive
from bastion.runners.google.machines.boot import MachineBoot
from bastion.testing.stage import order
from tests.google.fake import Fake
from tests.google.fake.fake import PROJECT
from tests.google.support.booted import KEY, Post
from tests.google.support.client import ask, client
from tests.google.support.gces import ZONE, Ground, runner, settings
from tests.google.support.gpu_host import has_gpus
from tests.google.support.machines import Room

SAVES = "trap 'echo saved; exit 3' TERM; echo \"on GPU $CUDA_VISIBLE_DEVICES\"; while :; do sleep 0.1; done"


@contextmanager
def ground(folder: Path, gcs_address: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ground]:
    room = Room(folder, lambda bare, guest: has_gpus(bare, "NVIDIA L4"))
    with Fake(machines=room, machine_environ={"STORAGE_EMULATOR_HOST": gcs_address}) as fake:
        for name, url in fake.environment().items():
            monkeypatch.setenv(name, url)
        here = Ground(fake, runner(fake, settings(ZONE)))
        yield here
        here.runner.context.google.close()


def test_a_vm_with_a_gpu_runs_its_job_and_warns_it_when_somebody_shuts_it_down(
    tmp_path: Path, gcs_address: str, store: str, archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ground(tmp_path, gcs_address, monkeypatch) as here:
        post = Post(store)
        born = MachineBoot(post.bucket, store, SystemShell(), {}, make=lambda _: archive)
        here.runner.context = replace(here.runner.context, birth=born)
        post.order(order(KEY, SAVES, grace_s=600.0))
        (machine,) = here.up(KEY, {"l4": 1})
        post.until(lambda: post.log() == "on GPU 0\n", "GPU")
        post.until(lambda: bool((facts := post.facts()) and facts.gpus), "what its worker sees of the GPU")
        facts = post.facts()
        assert facts is not None
        assert [(gpu.index, gpu.name, gpu.memory_total_mib) for gpu in facts.gpus or ()] == [
            ("0", "NVIDIA L4", 24 * 1024)
        ]

        # By another hand than the bastion's: the metadata say nothing, the power button does.
        (name,) = here.rows("instances")
        compute = client(here.fake, "compute")
        ask(compute.instances().stop(project=PROJECT, zone=ZONE, instance=name))
        compute.close()
        ended = post.ended()
        assert (ended.cause, ended.exit_code, ended.machine) == (Cause.LOST, 3, machine.id)
        assert "saved" in post.log()
        post.until(lambda: not here.fake.machines.one(f"{name}-0").runs, "end of the VM, whose last service has ended")
        here.fake.clock.advance(60)
        assert here.rows("instances")[name]["status"] == "TERMINATED"
        here.runner.list()
        here.runner.delete(machine.id)
        here.passes(120)
        assert here.fake.machines.all() == []
