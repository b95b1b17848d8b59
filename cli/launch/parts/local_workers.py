"""Run the workers of one attempt on this machine: start them, print their output, stop them, and leave none behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Protocol

import psutil

from bastion.launcher.logs.log_lines import LogSelection, streams
from bastion.launcher.submit.without_bastion import WithoutBastion, exit_code
from bastion.model.state.state import Cause
from bastion.platform.local_paths import secrets_folder, state_folder
from bastion.platform.system import SystemClock, ThreadTasks
from bastion.stores import untrusted

from ...options.launch import RunOptions
from ...terminal.main import Call

LOOK_S = 0.05
FLUSH_S = 0.1
_ROUNDS = 10
_SAID_BYTES = 64 * 1024
_TOLD = frozenset({Cause.OK, Cause.CODE, Cause.SETUP})
"""Causes of an end that the output or the exit code already explains."""


class StopInput(Protocol):
    """The interface to the requests to stop.

    times: the number of requests so far.
    """

    times: int


class LocalWorkers:
    """The workers of one attempt: one for each replica, with their output."""

    def __init__(self, call: Call[RunOptions], alone: WithoutBastion, folder: Path, grace_s: float) -> None:
        self._call, self._alone, self._folder, self._grace_s = call, alone, folder, grace_s
        self._tasks = ThreadTasks()
        self._streams = streams(alone.bucket, alone.key, alone.workers, LogSelection())
        self._workers: list[subprocess.Popen[bytes]] = []
        self._first: int | None = None
        self._stopped = self._gathered = False

    def __enter__(self) -> LocalWorkers:
        """Start the workers. If one cannot be started, kill the others."""
        try:
            for worker in range(self._alone.workers):
                self._workers.append(self._start(worker))
        except BaseException:
            self._kill()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Kill the workers that still run, which is the case only after an error."""
        self._kill()
        self._tasks.close()

    def work(self, asked: StopInput) -> int:
        """Print the output until all workers have ended.

        The first request stops them with grace, the second kills them.
        """
        clock = SystemClock()
        while any(worker.poll() is None for worker in self._workers):
            self._gathered = self._gathered or self._alone.gather()
            self._hear()
            self._see_ends()
            if asked.times and not self._stopped:
                self._call.output.note(f"stopping within {self._grace_s:g} s; a second signal kills it")
                self._stop(Cause.CANCELLED, "stopped by a signal")
            if asked.times > 1:
                self._kill()
            clock.sleep(LOOK_S)
        self._see_ends()
        self._hear()
        for stream in self._streams:
            self._call.output.log(stream.close())
        self._tell(asked)
        told = [self._alone.facts(worker) for worker in range(self._alone.workers)]
        return exit_code(told, self._first, cancelled=bool(asked.times))

    def _start(self, worker: int) -> subprocess.Popen[bytes]:
        """Start a worker as a runner does: in its own session, and with Python isolated from the current folder."""
        key, folder = self._alone.key, self._folder / f"worker-{worker}"
        folder.mkdir()
        flags = {
            "machine": f"{key}/{worker}",
            "job": key.job,
            "task": key.task,
            "attempt": key.attempt,
            "worker": worker,
            "address": "127.0.0.1",
            "bucket": self._alone.bucket.url,
            "folder": folder,
            "cache": state_folder(self._call.environ) / "work" / "cache",
            "secrets": secrets_folder(self._call.environ),
            "devices": f"share:{worker}/{self._alone.workers}",
            "parent": os.getpid(),
            "flush_s": FLUSH_S,
            "steady_flush_s": FLUSH_S,
        }
        argv = [sys.executable, "-I", "-m", "bastion", "worker", *(f"--{k}={v}" for k, v in flags.items())]
        # This process may run inside a job, and the job's own variables are not for these workers.
        kept = {name: value for name, value in self._call.environ.items() if not name.startswith("BASTION_")}
        with (folder / "worker.log").open("wb") as log:
            return subprocess.Popen(
                argv, env=kept, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    def _hear(self) -> None:
        for stream in self._streams:
            for lines in stream.more(self._tasks):
                self._call.output.log(lines)

    def _see_ends(self) -> None:
        """Stop all workers as soon as one ends badly: the attempt has failed."""
        for number, worker in enumerate(self._workers):
            if self._first is not None or self._stopped or worker.poll() is None:
                continue
            facts = self._alone.facts(number)
            cause = facts.cause if facts and facts.cause else Cause.LOST
            if cause is not Cause.OK:
                self._first = number
                self._stop(cause, f"worker {number} ended: {cause}")

    def _stop(self, cause: Cause, reason: str) -> None:
        if not self._stopped:
            self._stopped = True
            self._alone.stop(cause, self._grace_s, reason)
            for worker in self._workers:
                if worker.poll() is None:
                    worker.send_signal(signal.SIGTERM)

    def _kill(self) -> None:
        """Kill everything that runs. A worker comes last, because its processes are found through it."""
        for worker in self._workers:
            for _ in range(_ROUNDS):
                family = _family(worker.pid) if worker.poll() is None else []
                for member in family:
                    with suppress(psutil.Error):
                        member.kill()
                if not family:
                    break
            worker.kill()
            worker.wait()

    def _tell(self, asked: StopInput) -> None:
        """Print why the attempt ended, if it did not succeed."""
        number = self._first or 0
        facts = self._alone.facts(number)
        if asked.times:
            self._call.output.note("stopped")
        elif facts and facts.cause:
            if facts.cause not in _TOLD:
                self._call.output.note(f"{facts.cause}: {facts.message or f'exit code {facts.exit_code}'}")
        elif self._first is not None:
            with suppress(OSError):
                said = untrusted.tail(self._folder / f"worker-{number}" / "worker.log", _SAID_BYTES).decode(
                    "utf-8", "replace"
                )
                self._call.output.note(f"worker {number} crashed: {' | '.join(said.splitlines()[-5:])}")


def _family(pid: int) -> list[psutil.Process]:
    with suppress(psutil.Error):
        return [child for child in psutil.Process(pid).children(recursive=True) if child.is_running()]
    return []
