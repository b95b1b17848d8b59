"""The real machine under a worker: the attempt's own folder, and the processes of its account."""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import stat
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from bastion.bundler.checkout import Checkout
from bastion.bundler.git_commands import WantedCommit
from bastion.bundler.unpack import unpack
from bastion.model.errors import BundleError
from bastion.model.job.spec import BundleRef
from bastion.stores import untrusted

from .bounds import Bounds
from .bounds_guard import guard_of
from .cache import Cache, CacheEntry
from .container import ContainerHost, body, environment, tpus
from .container_engine import Container, Engine
from .folders import LEFT
from .ports import free_port
from .process_limits import FIRST_TO_GO
from .process_tree import kill_all
from .session import Session
from .unix_account import UnixAccount, home_of, name_of, run_as

LOG = "output.log"
GAPS = "gaps"
_NO_BOUNDS = Bounds()
_PROGRESS_TAIL = 64 * 1024
_GAPS_BYTES = 1024 * 1024
_PUNCH_HOLE_KEEP_SIZE = 3
_MOMENT_S, _MOMENTS = 0.001, 25
_AT_ONCE = 200
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnContainer:
    """The container that the worker itself runs in.

    image: the pinned name of the job's image; "" if the container is of the worker's image.
    folder: the image's own folder.
    variables: the image's own variables.
    """

    image: str
    folder: str
    variables: Mapping[str, str]


class LocalMachine:
    """The real machine of one worker. `folder` belongs to this attempt and worker alone.

    inherited: the worker's own environment.
    fetcher: fetches commits.
    cache: holds the results of setups.
    engine: runs images, except the one that the worker is `inside` of.
    account: the account of the job's processes; None if it is the worker's own.
    bounds: the most that the processes may use.
    output: the URL of the task's default output folder.
    private: True if other accounts may not enter such a folder.
    inside: the container that the worker runs in; None if it runs in none.
    begun: gets the pid of each process that is started for the job.

    The output file stays open, so a job that removes the folder loses nothing of its log.
    """

    def __init__(
        self,
        folder: Path,
        inherited: Mapping[str, str],
        *,
        fetcher: Checkout,
        cache: Cache,
        engine: Engine,
        account: UnixAccount | None = None,
        bounds: Bounds = _NO_BOUNDS,
        output: str = "",
        private: bool = False,
        inside: OwnContainer | None = None,
        begun: Callable[[int], None] = lambda pid: None,
    ) -> None:
        self.code = str(folder / "code")
        self.tmp = str(folder / "tmp")
        self.progress = str(folder / "progress.jsonl")
        self.peers = str(folder / "world.json")
        self._folder, self._gaps = folder, folder / GAPS
        self._engine = engine
        self._inherited = inherited
        self._fetcher, self._cache = fetcher, cache
        self._account, self._bounds, self._own = account, bounds, output.removeprefix("file://")
        self._inside, self._private, self._begun = inside, private, begun
        self._began = 0
        os.makedirs(folder, exist_ok=True)
        os.chmod(folder, 0o700)
        os.makedirs(self.tmp, mode=0o700, exist_ok=True)
        self._log = _output(folder / LOG)
        self._progress_missed = False
        if account is not None:
            with suppress(untrusted.NotRegularFile):  # the job of a crashed worker may have put something else there
                os.close(untrusted.opened(self.progress, os.O_CREAT))
                account.give(self.progress)
            account.give(self.tmp)
            account.let_in(str(folder))

    def free_port(self) -> int:
        """Return a port that is free now."""
        return free_port()

    def base_environment(self) -> Mapping[str, str]:
        """Return the account's basic variables. PATH is the worker's own, so that `python3` is the one of the login.

        In a container they override the variables of its image.
        """
        account = self._account
        if account is not None:
            name, home = account.name, account.home if os.path.isdir(account.home) else self.tmp
        else:
            name, home = name_of(os.getuid()), self._inherited.get("HOME") or home_of(os.getuid()) or self.tmp
        return {
            **(self._inside.variables if self._inside else {}),
            "PATH": self._inherited.get("PATH") or _PATH,
            "HOME": home,
            "USER": name,
            "LOGNAME": name,
            "LANG": self._inherited.get("LANG") or "C.UTF-8",
        }

    def shell(self, name: str, path: str) -> str:
        """Return the path of the first of these shells on the PATH."""
        for each in (name,) if name else ("bash", "sh"):
            if found := shutil.which(each, path=path):
                return found
        raise BundleError(f"there is no {name or 'sh'} on this machine; install it, or launch with another --shell")

    def unpack(self, data: bytes, digest: str, code: str) -> None:
        """Unpack a bundle."""
        unpack(data, digest, Path(code))
        self._give(code)

    def checkout(self, bundle: BundleRef, changes: bytes, code: str) -> None:
        """Fetch a commit."""
        wanted = WantedCommit(
            repo=bundle.repo, commit=bundle.commit, digest=bundle.digest, submodules=bundle.submodules
        )
        self._fetcher.lay_out(wanted, changes, Path(code))
        if not os.path.isdir(os.path.join(code, bundle.folder)):
            raise BundleError(f"{wanted} has no folder '{bundle.folder}'; commit a file in it, or launch from another")
        self._give(code)

    def keep(self, name: str, path: str) -> CacheEntry:
        """Return an entry of the cache."""
        return self._cache.keep(name, path)

    def clear(self) -> None:
        """Kill all descendants, and the container."""
        kill_all()
        self._engine.remove()

    def note(self, text: str) -> None:
        """Write to the output file."""
        os.write(self._log, f"[bastion] {text}\n".encode())

    def place(self, url: str) -> str:
        """Return the folder as the process gets it. A local folder is made; any other URL is the process's to open."""
        if "://" in url and not url.startswith("file://"):
            return url
        path = url.removeprefix("file://")
        if self._account is None:
            os.makedirs(path, exist_ok=True)
        elif self._of_task(path):
            self._make_for(self._account, path)
        elif not os.path.isdir(path):
            self._account.run(["mkdir", "-p", "--", path])
        return path

    def _of_task(self, path: str) -> bool:
        """Return True if it is the folder of some task in the bucket, which only root can make."""
        job, home = Path(path).parent, Path(self._own).parent.parent
        return bool(self._own) and job.parent == home and job.name != ".." and Path(path).name.isdecimal()

    def _make_for(self, account: UnixAccount, path: str) -> None:
        """Make the folder and give it to the account. The workers of a gang do this at the same time.

        So a folder of this task that another worker has just made is given away too. An existing folder of another task
        keeps its owner.
        """
        os.makedirs(os.path.dirname(path), exist_ok=True)
        try:
            os.mkdir(path)
        except FileExistsError:
            if Path(path) != Path(self._own) or os.lstat(path).st_uid == account.uid:
                return
        if self._private:
            os.chmod(path, 0o700)
        account.give(path)

    def write_peers(self, data: bytes) -> None:
        """Write the file of the gang's addresses."""
        untrusted.put(self.peers, data)

    def read_progress(self) -> bytes:
        """Return the end of the progress file. If the job has put something else there, note that once."""
        try:
            return untrusted.tail(self.progress, _PROGRESS_TAIL)
        except untrusted.NotRegularFile:
            if not self._progress_missed:
                self._progress_missed = True
                with suppress(OSError):
                    self.note(
                        "BASTION_PROGRESS_FILE is no regular file any more: progress and checkpoints are not read"
                    )
        except OSError:  # none yet
            pass
        return b""

    def start(self, argv: Sequence[str], env: Mapping[str, str], folder: str, memory: int) -> Session:
        """Run the command."""
        if not os.path.isdir(self.code):
            os.makedirs(self.code)
            self._give(self.code)
        self._began = self._next_moment()
        bounds = self._bounds.of_job(memory)
        guard = guard_of(bounds) if bounds.of_all else None
        return Session(argv, env, folder, self._log, self._account, guard, self._begun)

    def _next_moment(self) -> int:
        """Return a time of the file system, in ns, that is later than all writes before this call.

        The clock that stamps files moves only every few milliseconds, and a file of the bundle that was written a
        moment ago must not look like one of the command's. There is a limit: a file system with a coarser clock gets no
        longer wait.
        """
        first = now = self._stamp()
        for _ in range(_MOMENTS):
            if now > first:
                break
            time.sleep(_MOMENT_S)
            now = self._stamp()
        return now

    def _stamp(self) -> int:
        os.fchmod(self._log, 0o600)  # a change of the inode makes the file system stamp it
        return os.fstat(self._log).st_ctime_ns

    def changed(self, most: int) -> list[str]:
        """Walk the code's folder once, by descriptors.

        Hidden names and compiled Python are left out: users do not expect them.
        """
        found: list[str] = []
        for here, folders, names, descriptor in os.fwalk(self.code):
            folders[:] = sorted(name for name in folders if not _unasked(name))
            below = os.path.relpath(here, self.code)
            for name in sorted(names):
                if _unasked(name) or not self._is_new(name, descriptor):
                    continue
                found.append(name if below == "." else f"{below}/{name}")
                if len(found) >= most:
                    return sorted(found)
        return sorted(found)

    def _is_new(self, name: str, folder: int) -> bool:
        try:
            seen = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except OSError:
            return False
        return stat.S_ISREG(seen.st_mode) and seen.st_ctime_ns >= self._began

    def copy(self, names: Sequence[str], folder: str) -> None:
        """Copy with `cp` as the job's account: what it may not read or write, the copy may not either."""
        if not os.path.isdir(folder):
            run_as(self._account, ["mkdir", "-p", "--", folder])
        for start in range(0, len(names), _AT_ONCE):
            batch = names[start : start + _AT_ONCE]
            run_as(self._account, ["cp", "--no-dereference", "--parents", "-t", folder, "--", *batch], self.code)

    def read_changed(self, name: str, most: int) -> bytes:
        """Read the file without following a link on the way: the command could have put one there."""
        return untrusted.whole_below(self.code, name, most)

    def pull(self, image: str) -> None:
        """Have the engine pull the image, unless this worker runs inside it."""
        inside = self._inside.image if self._inside else ""
        if not inside:
            self._engine.pull(image)
        elif image != inside:
            raise BundleError(f"this container has the image {inside}, but the job needs {image}; launch the job again")

    def start_in(self, image: str, argv: Sequence[str], env: Mapping[str, str], memory: int) -> Container | Session:
        """Run the command in a container, or beside this worker if it is inside the image.

        The caller's `/bin/sh` is then the image's, not the host's.
        """
        if self._inside and self._inside.image:
            return self.start(argv, env, self._inside.folder, memory)
        account = self._account
        host = ContainerHost(
            uid=account.uid if account else os.getuid(),
            gid=account.gid if account else os.getgid(),
            groups=account.groups if account else (),
            oom_score=FIRST_TO_GO,
            devices=tpus(_device_names()),
        )
        here, _ = resource.getrlimit(resource.RLIMIT_NOFILE)  # the most that this machine allows
        bounds = replace(self._bounds.of_job(memory), open_files=here)
        wanted = body(image, argv, environment(env, self.tmp), str(self._folder), host, bounds)
        container = self._engine.run(wanted, self._log, bounds)
        self._begun(container.pid())
        return container

    def leave(self) -> str:
        """Keep the work folder with its output, which no bucket has. Return in words where it lies."""
        with suppress(OSError):
            (self._folder / LEFT).touch(mode=0o600)
        return f"its output stays in {self._folder / LOG}"

    def close(self) -> None:
        """Remove the temporary folder."""
        shutil.rmtree(self.tmp, ignore_errors=True)

    def _give(self, path: str) -> None:
        if self._account is not None:
            self._account.give(path)

    def log_size(self) -> int:
        """Return the size of the output file."""
        return os.fstat(self._log).st_size

    def read_log(self, start: int, size: int) -> bytes:
        """Return a piece of the output file."""
        return os.pread(self._log, size, start)

    def keep_gaps(self, gaps: Mapping[int, int]) -> None:
        """Replace the file of gaps as a whole."""
        with suppress(OSError):
            untrusted.put(self._gaps, "".join(f"{start} {end}\n" for start, end in gaps.items()).encode(), 0o600)

    def gaps(self) -> Mapping[int, int]:
        """Return the gaps that the file holds."""
        try:
            lines = untrusted.whole(self._gaps, _GAPS_BYTES).decode().splitlines()
            found = [(int(start), int(end)) for start, end in map(str.split, lines)]
        except (OSError, ValueError):  # no file yet, or the job put something else there
            return {}
        return {start: end for start, end in found if 0 <= start < end}

    def forget_log(self, start: int, end: int) -> None:
        """Punch a hole into the output file. Best effort: not every file system supports holes."""
        hole = ctypes.c_int64(start), ctypes.c_int64(end - start)
        ctypes.CDLL(None).fallocate(self._log, _PUNCH_HOLE_KEEP_SIZE, *hole)


def _unasked(name: str) -> bool:
    """Return True for names of files that tools leave behind by themselves."""
    return name.startswith(".") or name == "__pycache__" or name.endswith(".pyc")


def _output(path: Path) -> int:
    """Open the output file, to read and to append.

    Something else that a crashed worker's job put there is moved away.
    """
    how = os.O_RDWR | os.O_CREAT | os.O_APPEND
    try:
        return untrusted.opened(path, how)
    except untrusted.NotRegularFile:
        untrusted.put_aside(path)
    output = untrusted.opened(path, how)
    os.write(
        output,
        b"[bastion] the job put something else in the place of its output file; what it printed before is lost\n",
    )
    return output


def _device_names() -> list[str]:
    """Return the files of `/dev` that may be accelerators."""
    vfio = Path("/dev/vfio")
    return [*os.listdir("/dev"), *(f"vfio/{name}" for name in (os.listdir(vfio) if vfio.is_dir() else ()))]
