"""Settings for the machines: files for git, and limits of a job there. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ..wording import shown

_BOUNDS = {"memory": (0, 1_000_000), "processes": (0, 4_194_304), "open_files": (256, 1_048_576)}


class Git(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Files on the machines with which git reaches private repositories. Paths are absolute.

    deploy_key: the private key; "" for none.
    known_hosts: the known hosts of ssh; "" for none.
    """

    deploy_key: str = ""
    known_hosts: str = ""


class JobLimits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The most that the processes of one worker may use.

    memory: GiB of all processes together; 0: no limit. A job that asks for `memory` gets no more than it asks for, and
        no more than this.
    processes: number of processes, with threads; 0: no limit.
    open_files: open files of each process.
    """

    memory: int = 0
    processes: int = 16_384
    open_files: int = 65_536


def git_faults(value: Git) -> Iterator[str]:
    """Check the files for git; yield complaints."""
    for key, path in msgspec.structs.asdict(value).items():
        if path and (not path.startswith("/") or len(path) > 1024 or not path.isprintable() or '"' in path):
            yield f"{key} is {shown(path)}; use the absolute path of a file on the machines"


def job_limit_faults(value: JobLimits) -> Iterator[str]:
    """Check the limits; yield those that are out of bounds."""
    for name, (low, high) in _BOUNDS.items():
        if not low <= (most := getattr(value, name)) <= high:
            yield f"{name} is {shown(most)}; use a whole number from {low} to {high}"
