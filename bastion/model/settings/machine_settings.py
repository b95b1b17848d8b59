"""Settings that go to the machines: files for git, and what a job may use there. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ..wording import shown

_BOUNDS = {"memory": (0, 1_000_000), "processes": (0, 4_194_304), "open_files": (256, 1_048_576)}


class Git(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What machines give git to reach private repositories: absolute paths of files on the machines; "" for none."""

    deploy_key: str = ""
    known_hosts: str = ""


class JobLimits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the processes of one worker may use, together, of `memory` (GiB) and `processes` (with threads); 0: no limit.

    `open_files` is for each process. A job that asks for `memory` has no more than it asks for, nor than this.
    """

    memory: int = 0
    processes: int = 16_384
    open_files: int = 65_536


def git_faults(value: Git) -> Iterator[str]:
    """Say what is wrong with the files for git."""
    for key, path in msgspec.structs.asdict(value).items():
        if path and (not path.startswith("/") or len(path) > 1024 or not path.isprintable() or '"' in path):
            yield f"{key} is {shown(path)}; use the absolute path of a file on the machines"


def job_limit_faults(value: JobLimits) -> Iterator[str]:
    """Say which limits are out of bounds."""
    for name, (low, high) in _BOUNDS.items():
        if not low <= (most := getattr(value, name)) <= high:
            yield f"{name} is {shown(most)}; use a whole number from {low} to {high}"
