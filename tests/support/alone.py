"""A run of the suite stands alone: it sees nothing of its user's, and when it is cut, it leaves no process behind.

A plugin of pytest. The process that was started is a *guard*: it goes on as pytest in a child, and is the reaper of all that
loses its parent below it, whatever that did to its environment or its session.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import sys
import tempfile
from collections import Counter
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from bastion.runners.worker.linux.process_tree import family, kill_all
from bastion.runners.worker.linux.session import adopt_orphans

THEIRS = ("BASTION_", "XDG_CONFIG_", "XDG_CACHE_", "XDG_STATE_", "XDG_DATA_", "AWS_", "AZURE_", "GOOGLE_", "CLOUDSDK_")
THEIR_ENGINES = ("RAY_", "SLURM_", "KUBECONFIG", "DOCKER_", "STORAGE_EMULATOR_HOST")

HOME = pytest.StashKey[str]()
_ASKS = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
_WISH = signal.SIGUSR1
"""How the guard passes it on that it was asked to end."""

_PR_SET_PDEATHSIG = 1
_ROUNDS = 12


def pytest_configure(config: pytest.Config) -> None:
    """Begin as on a machine that was just set up: an empty home, and no variable that leads to what its user has.

    What runs in a script's background ignores Ctrl-C, and so would all programs that it starts.
    """
    is_worker = hasattr(config, "workerinput")
    home = tempfile.mkdtemp(prefix="home-", dir=os.environ["HOME"] if is_worker else None)
    if not is_worker and sys.platform == "linux":
        _go_on_below_a_guard(home)
    config.add_cleanup(partial(shutil.rmtree, home, ignore_errors=True))
    config.stash[HOME] = os.environ["HOME"] = home
    for name in [name for name in os.environ if name.startswith((*THEIRS, *THEIR_ENGINES))]:
        del os.environ[name]
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Have the home empty, whatever an earlier test left there."""
    home = Path(item.config.stash[HOME])
    for path in home.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def follow(number: int) -> None:
    """Have this signal when the parent ends, however it does."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)


def end_all() -> None:
    """Kill all that is below this process. What cannot end within a minute is left."""
    for _ in range(_ROUNDS):
        if not family():
            return
        kill_all()


def _go_on_below_a_guard(home: str) -> None:
    """Return in a child. The guard ends as it ends, and ends the rest if it was cut."""
    adopt_orphans()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {*_ASKS, signal.SIGCHLD})
    child = os.fork()
    if child == 0:
        follow(_WISH)
        _be_interrupted_once_by_each_wish()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return
    code: int = pytest.ExitCode.INTERNAL_ERROR
    try:
        code, was_cut = _watch(child)
        if was_cut or code == pytest.ExitCode.INTERRUPTED:
            end_all()
            shutil.rmtree(home, ignore_errors=True)
    finally:
        os._exit(code)


def _be_interrupted_once_by_each_wish() -> None:
    """SIGTERM is Ctrl-C. What is sent to a whole group of processes comes twice: from its sender, and from the guard."""
    told, most = Counter[int](), 0

    def interrupt(number: int, _: object) -> None:
        nonlocal most
        told[number] += 1
        if told[number] > most:
            most = told[number]
            raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM, _WISH):
        signal.signal(number, interrupt)


def _watch(child: int) -> tuple[int, bool]:
    """The exit code of pytest, and whether it was made to end. The first signal is Ctrl-C to it, the second one kills it.

    What a terminal sends has reached it already.
    """
    asked = 0
    while True:
        told = signal.sigwaitinfo({*_ASKS, signal.SIGCHLD})
        if told.si_signo != signal.SIGCHLD:
            if told.si_code <= 0:
                asked += 1
                os.kill(child, _WISH if asked == 1 else signal.SIGKILL)
            continue
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == child:
                    code = os.waitstatus_to_exitcode(ended[1])
                    return (code, asked > 0) if code >= 0 else (128 - code, True)
