"""What a job's code is packed into, and the door to what packs it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bastion.model.interfaces import Bucket

LIMIT_BYTES = 512 * 2**20
"""The most that the files of a bundle may hold together, uncompressed."""

LIMIT_FILES = 100_000
"""The most files and folders of a bundle."""

DIFF_BYTES = 64 * 2**20
"""The most that changes on top of a commit may hold, uncompressed."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """What a worker has to fetch to have the user's code.

    `type` says how to fetch it: `tar`, `git`, `image` or `none`. `key` is the bucket's key of a `tar`, or of the changes that
    were not committed, if a `git` has some; `digest` is the SHA-256 of the bytes behind the key, in hexadecimal, `size` their
    number, `files` how many files, links and empty folders they hold. A `git` is `commit` of `repo`; `folder`, `submodules`,
    `image` and `build` as in `BundleRef`. `notes` are for the user.
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
    """Packs a folder of code and leaves the result where workers find it."""

    def bundle(self, source: Path, bucket: Bucket) -> Bundle:
        """Pack `source` into `bucket`, which gets nothing if it already has it. Raises `BundleError`, `BucketError`."""


class NoneBundler:
    """For commands that need no code: packs nothing, asks nobody."""

    def bundle(self, source: Path, bucket: Bucket) -> Bundle:
        """The bundle of type `none`."""
        return Bundle("none")
