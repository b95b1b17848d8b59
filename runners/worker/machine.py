"""The real machine under a worker: the attempt's own folder, and this account's processes."""

from __future__ import annotations

import ctypes
import os
import pwd
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path

from bastion.errors import BundleError
from bastion.spec import BundleRef
from bundler.checkout import Checkout
from bundler.gitcall import Wanted
from bundler.unpack import unpack
from runners.worker.cache import Cache, Entry
from runners.worker.tree import Tree, kill_all

LOG = "output.log"
_PROGRESS_TAIL = 64 * 1024
_PUNCH_HOLE_KEEP_SIZE = 3
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class LocalMachine:
    """`folder` is this attempt's and worker's alone; `inherited` is the worker's own environment; `fetcher` brings
    commits, `cache` holds what setups have made.

    The output file stays open: a job that removes the folder loses nothing of its log.
    """

    def __init__(self, folder: Path, inherited: Mapping[str, str], *, fetcher: Checkout, cache: Cache) -> None:
        self.code = str(folder / "code")
        self.tmp = str(folder / "tmp")
        self.progress = str(folder / "progress.jsonl")
        self.world = str(folder / "world.json")
        self._inherited = inherited
        self._fetcher, self._cache = fetcher, cache
        os.makedirs(self.tmp, mode=0o700, exist_ok=True)
        self._log = os.open(folder / LOG, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def free_port(self) -> int:
        """A port that the system gives now; it may be taken before it is used."""
        with socket.socket() as door:
            door.bind(("", 0))
            port: int = door.getsockname()[1]
            return port

    def base_environment(self) -> Mapping[str, str]:
        """The account's basics; PATH as the worker inherited it, so that `python3` is the one of the login."""
        account = pwd.getpwuid(os.getuid())
        return {
            "PATH": self._inherited.get("PATH") or _PATH,
            "HOME": self._inherited.get("HOME") or account.pw_dir,
            "USER": account.pw_name,
            "LOGNAME": account.pw_name,
            "LANG": self._inherited.get("LANG") or "C.UTF-8",
        }

    def unpack(self, data: bytes, digest: str, code: str) -> None:
        """Unpack a bundle."""
        unpack(data, digest, Path(code))

    def checkout(self, bundle: BundleRef, changes: bytes, code: str) -> None:
        """Fetch a commit."""
        wanted = Wanted(repo=bundle.repo, commit=bundle.commit, digest=bundle.digest, submodules=bundle.submodules)
        self._fetcher.lay_out(wanted, changes, Path(code))
        if not os.path.isdir(os.path.join(code, bundle.folder)):
            raise BundleError(f"{wanted} has no folder '{bundle.folder}'; commit a file in it, or launch from another")

    def keep(self, name: str, path: str) -> Entry:
        """An entry of the cache."""
        return self._cache.keep(name, path)

    def clear(self) -> None:
        """Kill all descendants."""
        kill_all()

    def note(self, text: str) -> None:
        """Write to the output file."""
        os.write(self._log, f"[bastion] {text}\n".encode())

    def place(self, url: str) -> str:
        """A local folder is made; other URLs are for the process to open."""
        if "://" in url and not url.startswith("file://"):
            return url
        path = url.removeprefix("file://")
        os.makedirs(path, exist_ok=True)
        return path

    def write_world(self, data: bytes) -> None:
        """Write the file of the gang's addresses."""
        Path(self.world).write_bytes(data)

    def read_progress(self) -> bytes:
        """The end of the progress file."""
        try:
            with open(self.progress, "rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - _PROGRESS_TAIL))
                return file.read(_PROGRESS_TAIL)
        except OSError:  # none yet, or the job made something else of this name
            return b""

    def start(self, argv: Sequence[str], env: Mapping[str, str], folder: str) -> Tree:
        """Run the command."""
        os.makedirs(self.code, exist_ok=True)
        return Tree(argv, env, folder, self._log)

    def log_size(self) -> int:
        """Size of the output file."""
        return os.fstat(self._log).st_size

    def read_log(self, start: int, size: int) -> bytes:
        """A piece of the output file."""
        return os.pread(self._log, size, start)

    def forget_log(self, start: int, end: int) -> None:
        """Punch a hole into the output file. Best effort: not every file system has holes."""
        hole = ctypes.c_int64(start), ctypes.c_int64(end - start)
        ctypes.CDLL(None).fallocate(self._log, _PUNCH_HOLE_KEEP_SIZE, *hole)
