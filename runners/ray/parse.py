"""The output of Ray's Job API and its list of nodes, parsed into values. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bastion.model.errors import RunnerError
from bastion.model.interfaces import AttemptKey

from .render import NEEDS, RayJobName, parse

_PENDING, _RUNNING = "PENDING", "RUNNING"
_OVER = frozenset({"STOPPED", "SUCCEEDED", "FAILED"})
_KIND = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_MODEL = "accelerator_type:"
_GIB = 2**30
_WORDS_MAX = 300
_CHATTER = "Running entrypoint for job"

Node = Mapping[str, float]
"""The resources of one node, under Ray's names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RayJob:
    """A Ray job of ours.

    name: the machine's id, in its parts.
    pending: True while it waits for a node.
    over: True if it has ended, in any way.
    failed: True if Ray reports it as failed.
    told: True if Ray saw the end of the host process itself.
    node: Ray's id of the node where it runs or ran; "" if it has none.
    ended: seconds since 1970; 0 while it lives.
    message: Ray's own message.
    needs: what it needs of one node, under Ray's names.
    """

    name: RayJobName
    pending: bool
    over: bool
    failed: bool
    told: bool
    node: str
    ended: float
    message: str
    needs: Mapping[str, float]

    @property
    def lost(self) -> bool:
        """Return True if Ray lost contact with it while it ran, so its node may still run it."""
        return self.failed and not self.told and bool(self.node)


def jobs(data: bytes, scope: str) -> list[RayJob]:
    """Return the jobs of this bastion in a listing. Raises `RunnerError` if it is not a listing."""
    rows = _read(data)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise RunnerError("Ray's answer is no list of jobs; is the address that of its dashboard?")
    return [job for row in rows if (job := job_of(row)) and job.name.scope == scope]


def job(data: bytes) -> RayJob | None:
    """Return one job; None if it belongs to no bastion. Raises `RunnerError` if it is not a job."""
    row = _read(data)
    if not isinstance(row, dict):
        raise RunnerError("Ray's answer is no job; is the address that of its dashboard?")
    return job_of(row)


def job_of(row: Mapping[str, Any]) -> RayJob | None:
    """Return a listed job. Raises `RunnerError` for an unknown state: no machine may count as gone because of it."""
    name, status = parse(str(row.get("submission_id", ""))), row.get("status")
    if name is None:
        return None
    if status not in (_PENDING, _RUNNING) and status not in _OVER:
        raise RunnerError(
            f"Ray job {name} is in the unknown state {str(status)[:40]!r}; this version of Ray may be too new for Bastion"
        )
    return RayJob(
        name=name,
        pending=status == _PENDING,
        over=status in _OVER,
        failed=status == "FAILED",
        told=row.get("driver_exit_code") is not None,
        node=str(row.get("driver_node_id") or ""),
        ended=_number(row.get("end_time")) / 1000,
        message=str(row.get("message") or ""),
        needs=_needs(row.get("metadata")),
    )


def session(data: bytes) -> str:
    """Return the name of the head's session, from its version answer. Raises `RunnerError` if it has none."""
    found = _read(data)
    name = found.get("session_name") if isinstance(found, dict) else None
    if not isinstance(name, str) or not name:
        raise RunnerError("Ray's version answer names no session; is the address that of its dashboard?")
    return name


def nodes(data: bytes) -> list[Node]:
    """Return what each live node has. Raises `RunnerError` if it is not a list of nodes."""
    try:
        rows = _read(data)["data"]["result"]["result"]
        alive = [row["resources_total"] for row in rows if row["state"] == "ALIVE"]
        return [{str(name): float(amount) for name, amount in row.items()} for row in alive]
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise RunnerError(f"Ray's list of nodes is not valid: {error!r}") from error


def capacity(there: Iterable[Node], table: Mapping[str, str]) -> dict[str, int]:
    """Return what these nodes hold together, in our kinds. What Ray counts for itself is left out."""
    ours = {name: kind for kind, name in table.items()}
    out: dict[str, int] = {}
    for node in there:
        models = [name.removeprefix(_MODEL) for name in node if name.startswith(_MODEL)]
        for name, amount in node.items():
            kind = _kind(name, models, ours)
            if kind and amount >= 1:
                out[kind] = out.get(kind, 0) + int(amount // _GIB if name == "memory" else amount)
    return out


def halves(found: Iterable[RayJob]) -> set[AttemptKey]:
    """Return the attempts that are half there: some of their workers run while others wait for a place."""
    live = [job for job in found if not job.over]
    return {job.name.key for job in live if job.pending} & {job.name.key for job in live if not job.pending}


def waiting(found: Sequence[RayJob], there: Sequence[Node]) -> dict[AttemptKey, str]:
    """Return what attempts without all of their machines wait for, from their jobs and the existing nodes."""
    out: dict[AttemptKey, str] = {}
    for job in found:
        key = job.name.key
        if job.pending:
            out.setdefault(key, _obstacle(job.needs, there))
    alive = {job.name.key for job in found if not job.over and not job.pending}
    for job in sorted(found, key=lambda job: job.ended):
        if job.failed and not job.lost and job.name.key not in alive:
            out[job.name.key] = f"Ray did not start its worker: {_last_words(job.message)}"
    return out


def _obstacle(needed: Mapping[str, float], there: Sequence[Node]) -> str:
    wish = ", ".join(_said(name, amount) for name, amount in needed.items()) or "anything"
    if there and not any(all(node.get(name, 0) >= amount for name, amount in needed.items()) for node in there):
        return f"none of Ray's {len(there)} nodes has {wish}"
    return f"Ray has no node with {wish} free"


def _said(name: str, amount: float) -> str:
    if name.startswith(_MODEL):
        return f"the type {name.removeprefix(_MODEL)}"
    return f"{amount / _GIB:g} GiB of memory" if name == "memory" else f"{amount:g} {name}"


def _last_words(message: str) -> str:
    """Return the last line that is not Ray's own progress text."""
    lines = [line for line in message.splitlines() if line.strip() and not line.startswith(_CHATTER)]
    return " ".join((lines or ["it gives no reason"])[-1].split())[:_WORDS_MAX]


def _kind(name: str, models: Sequence[str], ours: Mapping[str, str]) -> str:
    if name == "GPU" and models:
        return ours.get(f"GPU:{models[0]}") or ours.get("GPU") or models[0].lower()
    if name in ours:
        return ours[name]
    usual = {"CPU": "cpu", "memory": "memory", "GPU": "gpu"}
    if name in usual:
        return usual[name]
    return name if _KIND.fullmatch(name) and name != "object_store_memory" else ""


def _needs(metadata: object) -> dict[str, float]:
    """Return the needs that we wrote ourselves; nothing if another program wrote them."""
    try:
        found = json.loads(metadata[NEEDS])  # type: ignore[index]
        return {str(name)[:100]: float(amount) for name, amount in found.items()}
    except (LookupError, TypeError, ValueError, AttributeError):
        return {}


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _read(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise RunnerError(
            f"Ray's answer is no JSON: {str(error)[:100]}; is the address that of its dashboard?"
        ) from error


def removals(data: bytes) -> Iterator[str]:
    """Yield the names of ended jobs that only killed a machine."""
    for row in _read(data):
        name = str(row.get("submission_id", ""))
        if name.startswith("kill~bastion~") and row.get("status") in _OVER:
            yield name
