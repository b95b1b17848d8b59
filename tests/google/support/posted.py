"""A worker of this installation as a runner starts it, with a folder as its bucket."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from bastion.journal import logs
from bastion.model import layout
from bastion.model.codec import decode, encode
from bastion.model.errors import ObjectNotFound
from bastion.model.interfaces import AttemptKey
from bastion.model.state.state import Cause
from bastion.model.stored.records import Facts, Order, StopOrder
from bastion.stores.local import LocalBucket

PATIENCE_S = 180.0


class Posted:
    """One worker, and the bucket between it and the test."""

    def __init__(self, folder: Path, key: AttemptKey) -> None:
        self.folder, self.key = folder, key
        self.work = folder / "work"
        self.work.mkdir()
        (folder / "bucket").mkdir()
        self.bucket = LocalBucket(f"file://{folder}/bucket")

    def flags(self) -> dict[str, object]:
        """What a runner would tell it."""
        key = self.key
        return {
            "machine": f"m|{key}",
            "job": key.job,
            "task": key.task,
            "attempt": key.attempt,
            "worker": 0,
            "address": "127.0.0.1",
            "bucket": f"file://{self.folder}/bucket/demo",
            "folder": self.work,
            "cache": self.folder / "setups",
        }

    @contextmanager
    def running(
        self,
        order: Order,
        *,
        python: Sequence[str] = (sys.executable,),
        environ: Mapping[str, str] | None = None,
        **more: object,
    ) -> Iterator[subprocess.Popen[bytes]]:
        """The worker of this order; it is killed when the block ends."""
        self._write(layout.order(self.key), encode(order))
        flags = [f"--{name}={value}" for name, value in {**self.flags(), **more}.items()]
        argv = [*python, "-I", "-m", "bastion", "worker", *flags]
        with subprocess.Popen(argv, env={"PATH": os.environ["PATH"], **(environ or {})}, stdin=-3) as process:
            try:
                yield process
            finally:
                with suppress(psutil.Error):  # it is ending by itself
                    for child in psutil.Process(process.pid).children(recursive=True):
                        with suppress(psutil.Error):
                            child.kill()
                process.kill()

    def ended(self) -> Facts:
        """Wait for the end of the attempt: the last facts."""
        self.until(lambda: (facts := self.facts()) is not None and facts.phase == "ended", "an end")
        facts = self.facts()
        assert facts is not None
        return facts

    def stop(self, grace_s: float) -> None:
        """Order the attempt to end."""
        stop = StopOrder(cause=Cause.CANCELLED, grace_s=grace_s, reason="cancelled by ada", nonce="n")
        self._write(layout.stop(self.key), encode(stop))

    def fell(self, process: subprocess.Popen[bytes]) -> None:
        """Kill the worker, and not its keeper."""
        (worker,) = psutil.Process(process.pid).children()
        worker.send_signal(signal.SIGKILL)

    def facts(self) -> Facts | None:
        """What it said last."""
        try:
            return decode(self.bucket.read(f"demo/{layout.facts(self.key, 0)}").data, Facts, "facts")
        except ObjectNotFound:
            return None

    def log(self) -> str:
        """The output so far."""
        prefix = f"demo/{layout.log(self.key, 0)}"
        return b"".join(logs.read(self.bucket, logs.survey(self.bucket, prefix).segments)).decode()

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Return when the condition holds."""
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline, f"no {what}: {self.facts()} {self.log()}"
            time.sleep(0.05)

    def _write(self, key: str, data: bytes) -> None:
        self.bucket.write(f"demo/{key}", data)
