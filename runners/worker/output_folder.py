"""The files that a command left in its working folder: kept where the job asks for it, else named in the log.

The working folder is removed with the attempt. `--outputs=GLOB` lists what to keep. A glob without a slash is compared
with a file's name, another one with its path below the working folder; `*` matches any characters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Protocol

from bastion.model.errors import BastionError, UsageError

from .exit_reason import short

FILES_MAX = 10_000
"""The most files of one worker that are kept or counted. A command that leaves more has other problems."""

BYTES_MAX = 256 * 1024 * 1024
"""The largest file that is stored in one piece, in bytes. A local folder takes files of any size."""

_SHOWN = 3


class WorkingFolder(Protocol):
    """The part of the machine that knows the folder in which the command ran."""

    def changed(self, most: int) -> Sequence[str]:
        """Return the regular files that are new or changed since the command began: sorted paths below the folder."""

    def copy(self, names: Sequence[str], folder: str) -> None:
        """Copy these files, with their folders, into a local folder, as the job's account. Raises `OSError`."""

    def read_changed(self, name: str, most: int) -> bytes:
        """Return the bytes of one of these files. Raises `OSError`, also for more than `most` bytes, or for a link."""


Put = Callable[[str, bytes], None]
"""Store bytes under a name below the output folder. Raises `BastionError`."""


def no_store(url: str) -> Put:
    """The way to store files where there is none. Raises `UsageError`."""
    raise UsageError(f"this worker cannot store files at {url}; let the command write there itself")


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputTarget:
    """The place for the files of one worker.

    globs: which files to keep.
    folder: the job's output folder as the command sees it: a local path, or a URL.
    open: returns, for a URL, the function that stores files below it.
    worker: the worker's number. Only worker 0 uses the top of the folder; any other has a folder of its own there, so
        that no two write the same name.
    """

    globs: Sequence[str]
    folder: str
    open: Callable[[str], Put]
    worker: int = 0

    def finish(self, files: WorkingFolder) -> Iterator[str]:
        """Keep the files that the globs name.

        Yield the lines for the job's log: what was kept, what was not, and why.
        """
        found = files.changed(FILES_MAX)
        wanted = [name for name in found if any(matches(name, glob) for glob in self.globs)]
        if wanted:
            yield from self._keep(files, wanted)
        left = sorted(set(found) - set(wanted))
        if left:
            yield not_kept(left, at_least=len(found) >= FILES_MAX)

    def _keep(self, files: WorkingFolder, names: Sequence[str]) -> Iterator[str]:
        folder = self.folder if self.worker == 0 else f"{self.folder}/w{self.worker:03}"
        try:
            if "://" in folder:
                yield from self._store(files, names, self.open(folder))
            else:
                files.copy(names, folder)
                yield kept(names)
        except (BastionError, OSError) as error:
            yield f"{counted(len(names))} could not be kept in {folder}: {short(str(error))}"

    def _store(self, files: WorkingFolder, names: Sequence[str], put: Put) -> Iterator[str]:
        stored = []
        for name in names:
            try:
                put(name, files.read_changed(name, BYTES_MAX))
                stored.append(name)
            except OSError as error:
                yield f"{name} could not be kept: {short(str(error))}; write it to $BASTION_OUTPUT_DIR"
        if stored:
            yield kept(stored)


def matches(name: str, glob: str) -> bool:
    """Return True if the glob names this file."""
    return fnmatchcase(name if "/" in glob else PurePosixPath(name).name, glob)


def kept(names: Sequence[str]) -> str:
    """Return the line about files that were kept."""
    return f"{counted(len(names))} kept in $BASTION_OUTPUT_DIR: {_listed(names)}"


def not_kept(names: Sequence[str], *, at_least: bool = False) -> str:
    """Return the line about files that go with the working folder, with the glob that keeps such files next time."""
    verb = "was" if len(names) == 1 else "were"
    amount = f"at least {counted(len(names))}" if at_least else counted(len(names))
    suffix = PurePosixPath(names[0]).suffix
    glob = f"*{suffix}" if suffix else PurePosixPath(names[0]).name
    return f"{amount} {verb} not kept: {_listed(names)}; write to $BASTION_OUTPUT_DIR or add --outputs='{glob}'"


def counted(number: int) -> str:
    """Return a number of files in words."""
    return f"{number} file" if number == 1 else f"{number} files"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(short(name) for name in names[:_SHOWN])
    return f"{shown}, …" if len(names) > _SHOWN else shown
