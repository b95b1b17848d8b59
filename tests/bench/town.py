"""Our two tools as real processes on a bucket in a folder, with a state folder of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil

from bastion.journal import recover
from bastion.model import layout
from bastion.model.codec import decode, encode
from bastion.model.errors import ObjectNotFound
from bastion.model.interfaces import Ids
from bastion.model.job.spec import JobSpec
from bastion.model.layout import job_id
from bastion.model.state.state import State
from bastion.model.stored.requests import Submit
from bastion.model.stored.status import Status
from bastion.platform.system import RandomIds
from bastion.stores.local import LocalBucket
from bastion.stores.opening import PrefixedBucket
from tests.bench.bastion.folder import fresh_folder

PATIENCE_S = 300.0


class Town:
    """A bastion's part of a bucket, and how to start and end what works on it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.url = f"file://{home / 'bucket'}"
        self.folder = home / "bucket" / "b"
        self.bucket = PrefixedBucket(LocalBucket(self.url, create=True), "b")
        self.ids: Ids = RandomIds()
        self.environ = {
            **os.environ,
            "BASTION_NAME": "b",
            "BASTION_BUCKET": self.url,
            "XDG_STATE_HOME": str(home / "state"),
            "XDG_CONFIG_HOME": str(home / "config"),
            "XDG_CACHE_HOME": str(home / "cache"),
        }
        self._bastions: list[subprocess.Popen[bytes]] = []

    def settle(self, config: str, quota: str = "") -> None:
        """Store the settings, and a quota file if there is to be one."""
        self.bucket.write(layout.CONFIG, config.encode())
        if quota:
            self.bucket.write(layout.QUOTA, quota.encode())

    def start(self, epoch: int = 1) -> subprocess.Popen[bytes]:
        """The loop in a process of its own, when its first tick has ended."""
        process = self._spawn()
        until(lambda: (status := self.status()) is not None and status.epoch == epoch and status.ticks > 0, 0.01)
        return process

    def stand_by(self, prefix: Sequence[str] = ()) -> None:
        """One more, when it has seen that another is at work. `prefix` is a command that runs it."""
        self._spawn(prefix)
        until(lambda: "standing by" in (self.home / "bastion.log").read_text())

    def _spawn(self, prefix: Sequence[str] = ()) -> subprocess.Popen[bytes]:
        argv = [*prefix, sys.executable, "-I", "-m", "bastion", "bastion", "start"]
        with (self.home / "bastion.log").open("ab") as log:
            process = subprocess.Popen(argv, env=self.environ, cwd=self.home, stdout=log, stderr=log)
        self._bastions.append(process)
        return process

    def status(self) -> Status | None:
        """The bastion's last sign of life."""
        try:
            return decode(self.bucket.read(layout.STATUS).data, Status, layout.STATUS)
        except ObjectNotFound:
            return None

    def state(self) -> State:
        """What the journal says."""
        return recover.load(self.bucket)

    def submit(self, spec: JobSpec) -> str:
        """Put a job into the inbox; its id."""
        request = self.ids.new()
        self.bucket.create(layout.request(spec.user, request), encode(Submit(spec=spec)))
        return job_id(spec.name, request)

    def close(self) -> None:
        """End the bastions that were started here, then the jobs: those that last, last until there is a file `go`."""
        for process in self._bastions:
            if process.poll() is None:
                process.terminate()
            process.wait()
        (self.home / "go").touch()
        until(lambda: not self._workers())

    def _workers(self) -> list[psutil.Process]:
        """The workers that are still at it: they outlive bastions."""
        running = psutil.process_iter(["cmdline"])
        return [process for process in running if any(self.url in word for word in process.info["cmdline"] or ())]


@contextmanager
def town() -> Iterator[Town]:
    """An empty one, gone afterwards."""
    with fresh_folder() as home:
        here = Town(home)
        try:
            yield here
        finally:
            here.close()


def until(condition: Callable[[], bool], every_s: float = 0.1) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("what was waited for did not come")
        time.sleep(every_s)
