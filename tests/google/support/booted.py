"""A bare machine between a metadata server and a store: it runs its start-up script, and its worker one attempt."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil

from bastion.journal import logs
from bastion.model import layout
from bastion.model.codec import decode, encode
from bastion.model.errors import ObjectNotFound
from bastion.model.interfaces import AttemptKey, Bucket
from bastion.model.stored.records import Claim, Facts, Order
from bastion.runners.delivery.archive import Archive, publish
from bastion.runners.delivery.bootstrap import MachineGroup, metadata
from bastion.stores.opening import open_part
from tests.google.support.bare import METADATA, Bare, Listen
from tests.google.support.metadata import Metadata
from tests.google.support.relay import relayed

KEY = AttemptKey("train-12345678", 0, 0)
PATIENCE_S = 180.0
_PORT = 4443
_AND_WAIT = '; echo "script ended with $?"; exec /bin/cat'


class Post:
    """One attempt in the bucket, between its workers and the test."""

    def __init__(self, store: str) -> None:
        self.bucket: Bucket = open_part(store)

    def order(self, order: Order) -> None:
        """Leave an order for the worker."""
        self.bucket.write(layout.order(KEY), encode(order))

    def facts(self, worker: int = 0) -> Facts | None:
        """What the worker said last."""
        found: Facts | None = self._read(layout.facts(KEY, worker), Facts)
        return found

    def claim(self, worker: int = 0) -> Claim | None:
        """Who claimed."""
        found: Claim | None = self._read(layout.claim(KEY, worker), Claim)
        return found

    def log(self, worker: int = 0) -> str:
        """The job's output so far."""
        segments = logs.survey(self.bucket, layout.log(KEY, worker)).segments
        return b"".join(logs.read(self.bucket, segments)).decode()

    def ended(self, worker: int = 0) -> Facts:
        """Wait for the end of the attempt."""
        self.until(lambda: (facts := self.facts(worker)) is not None and facts.phase == "ended", "an end")
        facts = self.facts(worker)
        assert facts is not None
        return facts

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Return when the condition holds."""
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline, f"no {what}: {self.workers_words()}"
            time.sleep(0.05)

    def workers_words(self) -> str:
        """What the worker itself said, where that is known."""
        return ""

    def _read(self, key: str, kind: type[Any]) -> Any:
        try:
            return decode(self.bucket.read(key).data, kind, key)
        except ObjectNotFound:
            return None


class Booted(Post):
    """One machine, which may boot more than once."""

    def __init__(self, folder: Path, store: str, archive: Archive, name: str = "n-0") -> None:
        super().__init__(store)
        self.bare = Bare(folder / "machine")
        self.key = publish(self.bucket, archive)
        boot = MachineGroup(key=KEY, machine="us-central2-b/n/4f2a", base=0, bucket=store, build=archive.digest)
        self.metadata = Metadata(metadata(boot), name=name)
        self.environ = {"STORAGE_EMULATOR_HOST": f"http://127.0.0.1:{_PORT}"}

    @contextmanager
    def booting(self, before: str = "") -> Iterator[subprocess.Popen[str]]:
        """Switch it on: its console. It is switched off when the block ends. `before` comes before its start-up script."""
        (self.bare.root / "start").write_text(before + self.metadata.attribute("startup-script"))
        with ExitStack() as stack:

            def serve(listen: Listen) -> None:
                stack.enter_context(self.metadata.served(listen(METADATA, 80)))
                port = urlsplit(os.environ["STORAGE_EMULATOR_HOST"]).port
                assert port is not None
                stack.enter_context(relayed(listen("127.0.0.1", _PORT), port))

            yield stack.enter_context(self.bare.running("/bin/sh /start" + _AND_WAIT, serve, self.environ))

    def console(self, process: subprocess.Popen[str]) -> list[str]:
        """What the script printed, to its end."""
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line.rstrip("\n"))
            if line.startswith("script ended"):
                return lines
        raise AssertionError(lines)

    def workers(self) -> list[int]:
        """The processes of the worker."""
        root, found = str(self.bare.root), []
        for process in psutil.process_iter(["pid", "cmdline"]):
            with suppress(psutil.Error, OSError):
                if "bastion" in (process.info["cmdline"] or ()) and os.readlink(f"/proc/{process.pid}/root") == root:
                    found.append(process.pid)
        return found

    def workers_words(self) -> str:
        """What the worker itself said."""
        own = self.bare.root / "var/lib/bastion/worker.log"
        return own.read_text() if own.exists() else "no worker"
