"""Parse the worker's command line into typed options. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self, TypeVar

from bastion.model import layout
from bastion.model.interfaces import AttemptKey

from ..local.render import PRIVATE
from ..worker.interfaces import WorkerPace
from ..worker.linux.bounds import Bounds

NEEDED = frozenset({"job", "task", "attempt", "worker", "machine", "address", "bucket", "folder", "cache"})
"""The flags without which no worker starts."""

R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """The flags of one worker. `runners.local.render` writes them.

    key: the attempt.
    worker: number of the worker in its gang.
    machine: the backend's id of the machine.
    address: address of the machine, as the other workers of the gang reach it.
    bucket: URL of the bastion's part of the bucket.
    buckets: URLs of the buckets for some prefixes, by the name of the home: permanent, ttl.
    folder: the folder of the attempt on this machine.
    cache: the folder for code that several attempts use.
    devices: GPUs of the worker, with commas, or its share of all as `share:0/2`; empty: none.
    creation: names the creation of the machine; empty: the backend has none.
    parent: pid of the process that the worker ends with; None: it has none.
    entry: the machine's entry in the registry of this host; None: there is no registry.
    group: the machine's control group; empty: there is none.
    run_as: the account that the job runs as; None: the account of the worker.
    private: logs can be read by the job's account alone.
    secrets: the folder with this machine's secrets; None: the machine has none.
    deploy_key, known_hosts: files for private git repositories; empty: there are none.
    bounds: what the job's processes may use together.
    pace: how often the worker looks, writes and reports.
    """

    key: AttemptKey
    worker: int
    machine: str
    address: str
    bucket: str
    buckets: Mapping[str, str]
    folder: Path
    cache: Path
    devices: str
    creation: str
    parent: int | None
    entry: Path | None
    group: str
    run_as: str | None
    private: bool
    secrets: Path | None
    deploy_key: str
    known_hosts: str
    bounds: Bounds
    pace: WorkerPace

    @classmethod
    def parse(cls, flags: Mapping[str, str]) -> Self:
        """Parse flags by their names, all of `NEEDED` among them. Raises `ValueError` for a wrong number."""
        return cls(
            key=AttemptKey(flags["job"], int(flags["task"]), int(flags["attempt"])),
            worker=int(flags["worker"]),
            machine=flags["machine"],
            address=flags["address"],
            bucket=flags["bucket"],
            buckets={
                home: flags[f"{home}_bucket"] for home in (layout.PERMANENT, layout.TTL) if f"{home}_bucket" in flags
            },
            folder=Path(flags["folder"]),
            cache=Path(flags["cache"]),
            devices=flags.get("devices", ""),
            creation=flags.get("creation", ""),
            parent=int(flags["parent"]) if "parent" in flags else None,
            entry=Path(flags["entry"]) if "entry" in flags else None,
            group=flags.get("group", ""),
            run_as=flags.get("run_as"),
            private=PRIVATE in flags,
            secrets=Path(flags["secrets"]) if "secrets" in flags else None,
            deploy_key=flags.get("deploy_key", ""),
            known_hosts=flags.get("known_hosts", ""),
            bounds=_numbers(Bounds, flags),
            pace=_numbers(WorkerPace, flags),
        )


def _numbers(kind: type[R], flags: Mapping[str, str]) -> R:
    """Return a record of numbers with these flags; a field without a flag keeps its default."""
    usual: Any = kind()
    known = {field.name: type(getattr(usual, field.name)) for field in fields(usual)}
    return kind(**{name: number(flags[name]) for name, number in known.items() if name in flags and number is not bool})
