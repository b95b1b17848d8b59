"""The bundle that a job's code is packed into, and the interface of bundlers. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bastion.model.interfaces import Bucket

LIMIT_BYTES = 512 * 2**20
"""The most bytes that the files of a bundle may hold together, uncompressed."""

LIMIT_FILES = 100_000
"""The most files and folders of a bundle."""

DIFF_BYTES = 64 * 2**20
"""The most bytes that changes on top of a commit may hold, uncompressed."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """The code that a worker has to fetch for a job, and how.

    type: how to fetch it: `tar`, `git`, `image` or `none`.
    key: the bucket's key of a `tar`, or of the changes of a `git` that were not committed; empty if there are none.
    digest: SHA-256 in hexadecimal of the bytes behind `key`; for an `image`, of its manifest.
    size: the number of bytes behind `key`.
    files: the number of files, links and empty folders behind `key`; for a `git`, of changed paths.
    repo: the URL of the repository of a `git`.
    commit: the commit of a `git`, in full.
    folder: the folder of the commit where the command runs, as in `BundleRef`.
    submodules: whether submodules are fetched, as in `BundleRef`; None refuses a commit that has some.
    image: the name of an `image` in a registry, without a tag, as in `BundleRef`.
    build: the build in Cloud Build that has yet to make the image, as in `BundleRef`; empty if there is none.
    notes: lines for the user.
    """

    type: str
    key: str = ""
    digest: str = ""
    size: int = 0
    files: int = 0
    repo: str = ""
    commit: str = ""
    folder: str = ""
    submodules: bool | None = None
    image: str = ""
    build: str = ""
    notes: tuple[str, ...] = ()


class Bundler(Protocol):
    """A way to pack a folder of code and to leave the result where workers find it."""

    def bundle(self, source: Path, bucket: Bucket) -> Bundle:
        """Pack `source` into `bucket`. Upload nothing if the bucket already has it.

        Raises `BundleError`, `BucketError`.
        """


class NoneBundler:
    """The bundler for commands that need no code. It packs nothing and needs no bucket."""

    def bundle(self, source: Path, bucket: Bucket) -> Bundle:
        """Return the bundle of type `none`."""
        return Bundle("none")
