"""`launch ssh`: open a shell, or run a command, where a job's worker runs.

The way there is the provider's own. Bastion opens no port for it.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence

import psutil

from bastion.launcher.read.job_lookup import FoundJob, one_task
from bastion.model.errors import BastionError, JobNotFound, UsageError
from bastion.model.state.state import Attempt, Worker

from ..common.command_context import context_of
from ..common.job_choice import job_of
from ..common.place import place_of
from ..options.launch import SshOptions
from ..terminal.main import DONE, Call
from .parts.ssh_tunnel import RUNNERS, PortForward, forwards, gcloud

MARK, JOB = "BASTION_MACHINE", "BASTION_JOB"
"""Variables in the environment of a job's processes."""

_INSTALL = "install Google's command line, https://cloud.google.com/sdk/docs/install, and run: gcloud auth login"


def run(call: Call[SshOptions]) -> int:
    """Replace this process with the command that leads there. With --print, print that command."""
    wanted = forwards(call.options.forward or [])
    context = context_of(call)
    found = job_of(call, context, context.reader().look())
    attempt = _live(found)
    number = call.options.worker
    worker = _worker(found, attempt, number)
    if attempt.runner not in RUNNERS:
        return _here(call, found, number, worker, wanted)
    argv = gcloud(attempt.runner, worker.machine, place_of(call).config().google.project, call.after or (), wanted)
    if call.options.print:
        return _print(call, argv)
    if shutil.which(argv[0], path=call.environ.get("PATH")) is None:
        raise BastionError(f"{argv[0]} is not installed here; {_INSTALL}; or run what --print shows on another machine")
    return _become(argv, call.environ)


def _live(found: FoundJob) -> Attempt:
    """Return the attempt that runs now. Raises `BastionError` if there is none."""
    task = one_task(found)
    tasks = found.job.tasks if found.job else {}
    live = tasks[task].live if task in tasks else None
    if live is None:
        state = tasks[task].state if task in tasks else found.job.state if found.job else "PENDING"
        raise BastionError(f"{found.name} is {state} and on no machine now; see launch why {found.id}")
    return live


def _worker(found: FoundJob, attempt: Attempt, number: int) -> Worker:
    """Return the worker of this number.

    Raises `JobNotFound` for a wrong number, `BastionError` if it is not up or has gone.
    """
    if not 0 <= number < len(attempt.workers):
        raise JobNotFound(f"{found.name} has no worker {number}; its workers are 0 to {len(attempt.workers) - 1}")
    worker = attempt.workers[number]
    if worker.over:
        raise BastionError(f"worker {number} of {found.name} has exited; see launch why {found.id}")
    if not worker.seen:
        waits = f": {attempt.waits_for}" if attempt.waits_for else ""
        raise BastionError(f"worker {number} of {found.name} is not up yet{waits}; see launch why {found.id}")
    return worker


def _here(call: Call[SshOptions], found: FoundJob, number: int, worker: Worker, wanted: Sequence[PortForward]) -> int:
    """Open a shell on this machine, in the folder and with the environment of the worker's process."""
    if wanted:
        there = wanted[0].there
        raise UsageError(
            f"worker {number} of {found.name} runs on its bastion's own machine, so it needs no --forward; use port {there} there"
        )
    folder, environ = _process(call, found, number, worker.machine)
    argv = list(call.after or (call.environ.get("SHELL") or "/bin/sh",))
    if call.options.print:
        return _print(call, ["env", f"--chdir={folder}", *argv])
    terminal = {name: call.environ[name] for name in ("TERM", "COLORTERM") if name in call.environ}
    if shutil.which(argv[0], path=environ.get("PATH")) is None:
        raise JobNotFound(f"there is no program {argv[0][:100]!r} in the PATH of {found.name}")
    os.chdir(folder)
    return _become(argv, {**environ, **terminal})


def _process(call: Call[SshOptions], found: FoundJob, number: int, machine: str) -> tuple[str, Mapping[str, str]]:
    """Return the folder and the environment of the worker's process.

    The environment lacks the mark of the machine: a process with that mark would be killed at the end of the worker.
    Raises `BastionError` if this machine shows no such process.
    """
    for process in psutil.process_iter():  # in the order of process ids, so usually the oldest first
        try:
            environ = process.environ()
            if (environ.get(MARK), environ.get(JOB)) == (machine, found.id):
                return process.cwd(), {name: value for name, value in environ.items() if name != MARK}
        except psutil.Error:
            continue  # it belongs to another account, or it has just ended
    status = place_of(call).status()
    host = status.host if status else "the host of its bastion"
    raise BastionError(
        f"this account sees no process of worker {number} of {found.name} here: the worker runs on {host}, as the account of its "
        f"bastion, once its code is there; run launch ssh on that machine, as that account"
    )


def _print(call: Call[SshOptions], argv: Sequence[str]) -> int:
    if call.output.json:
        call.output.data({"schema": 1, "command": list(argv)})
    else:
        call.output.say(shlex.join(argv))
    return DONE


def _become(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """Replace this process with that command: it gets the terminal and the signals, and its exit code is ours."""
    sys.stdout.flush()  # exec drops what is still in a buffer
    sys.stderr.flush()
    os.execvpe(argv[0], list(argv), dict(environ))
