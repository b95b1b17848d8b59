"""A bastion with a VM of its own in the fake cloud, driven by nothing but our two console scripts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bastion.runners.google.hosting.bastion_vm import IMAGE
from tests.google.fake import Fake
from tests.google.fake.cloud import Delays, Guest
from tests.google.fake.fake import PROJECT
from tests.google.support.bare import Bare
from tests.google.support.container_host import can_start_containers
from tests.google.support.gpu_host import has_gpus
from tests.google.support.machines import Room
from tests.support.fleet import Fleet, Said

IMAGES = f"us-central1-docker.pkg.dev/{PROJECT}/images/bastion"
VM_ZONE, TPU_ZONE, GPU_ZONE = "us-central1-a", "us-central2-b", "us-central1-a"
GPU = "NVIDIA L4"
QUICK = Delays(accept=0.1, wait=0.1, provision=0.2, boot=1.0, delete=0.5, suspend=0.5, operation=0.1)


class OwnVm(Fleet):
    """Our tools, led to the fake and to a bucket. The fake's VMs can start containers of this installation."""

    def __init__(self, folder: Path, google: Fake, store: str, gcs_address: str) -> None:
        super().__init__(folder)
        self.google = google
        root, _, name = store.rpartition("/")
        self.environ |= google.environment()
        self.environ |= {"STORAGE_EMULATOR_HOST": gcs_address, "BASTION_BUCKET": root, "BASTION_NAME": name}

    def on_google(self, *words: str, image: str = f"{IMAGES}@sha256:{'1' * 64}") -> Said:
        """`bastion create` with a VM."""
        where = (f"--gcp_project={PROJECT}", f"--gcp_zone={VM_ZONE}", f"--fleet_zones={TPU_ZONE},{GPU_ZONE}")
        return self.run("bastion", "create", *where, f"--image={image}", "--poll=0.2", "--capacity=v4=32,l4=4", *words)

    def changes(self) -> list[str]:
        """The methods that changed something, as they were called."""
        looks = ("get", "list", "aggregatedList", "wait", "batchGet", "getIamPolicy")
        return [call.method for call in self.google.calls() if call.method.rpartition(".")[2] not in looks]

    def machines(self) -> dict[str, Any]:
        """All that costs: its kind and name, and the row of it."""
        return {
            "/".join(name.split("/")[-2:]): row
            for kind in ("queuedResources", "nodes", "instances", "disks")
            for name, row in self.google.rows(kind).items()
        }

    def last_words(self) -> str:
        """What machines said, and what their containers did: for a test that fails."""
        told = []
        for machine in self.google.machines.all():
            files = (machine.root / name for name in ("var/log/container", "var/lib/bastion/worker.log"))
            told += [machine.guest.name, machine.said[-3000:], *(f.read_text()[-3000:] for f in files if f.exists())]
        return "\n".join(told)


@contextmanager
def own_vm(folder: Path, store: str, gcs_address: str) -> Iterator[OwnVm]:
    """A fake whose clock runs, and whose machines are real."""
    room = Room(folder / "cloud", _prepare)
    with Fake(
        machines=room, machine_environ={"STORAGE_EMULATOR_HOST": gcs_address}, speed=1, start=time.time()
    ) as google:
        google.cloud.delays = QUICK
        here = OwnVm(folder, google, store, gcs_address)
        try:
            yield here
        except AssertionError as error:
            error.add_note(here.last_words())
            raise


def _prepare(bare: Bare, guest: Guest) -> None:
    if IMAGE in guest.attributes:
        can_start_containers(bare)
    elif "/instances/" in guest.resource:
        has_gpus(bare, GPU)
