"""Common parts of the commands that simulate: flags and the trace."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from bastion.model.durations import seconds
from bastion.model.errors import BastionError, UsageError
from bastion.model.nearest import did_you_mean
from bastion.quota.quota import Quota
from bastion.simulate import trace
from bastion.simulate.workload import Arrival, WorkPace

from ...options.bastion import VirtualOptions

DAYS_MAX = 36_500


def pace_of(options: VirtualOptions) -> WorkPace:
    """Return how jobs save their work. Raises `UsageError`."""
    return WorkPace(
        checkpoint=some(options.checkpoint, "--checkpoint"),
        restart=length(options.restart, "--restart"),
        tick=length(options.tick, "--tick"),
    )


def some(text: str, what: str) -> timedelta:
    """Return a length of time above 0. Raises `UsageError` with the name `what`."""
    found = length(text, what)
    if not found:
        raise UsageError(f"{what} is 0; use a length of time above 0, as in 10m or 28d")
    return found


def length(text: str, what: str) -> timedelta:
    """Return a length of time. Raises `UsageError` with the name `what`."""
    found = seconds(text, what)
    if found > DAYS_MAX * 86_400:
        raise UsageError(f"{what} is {text[:64]!r}; use at most {DAYS_MAX}d")
    return timedelta(seconds=found)


def kind_of(options: VirtualOptions, quota: Quota) -> str:
    """Return the kind to measure: the one of --resource, else the only kind of the quota file. Raises `UsageError`."""
    kinds, said = list(quota.total()), options.resource
    if said is None and len(kinds) == 1:
        return kinds[0]
    if said in kinds:
        return str(said)
    wrong = f"--resource is {said[:64]!r}" if said else "--resource is not given"
    raise UsageError(f"{wrong}; {did_you_mean((said or '')[:64], kinds, 'use ' + ' or '.join(kinds))}")


def read_trace(path: Path, kind: str) -> list[Arrival]:
    """Return the jobs of a trace. Raises `BastionError` with the file and the wrong line."""
    if path.stat().st_size > trace.BYTES_MAX:
        raise BastionError(f"{path} has more than {trace.BYTES_MAX} bytes; cut it")
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return trace.read(iter(lambda: file.readline(trace.LINE_MAX + 2), ""), kind)
    except UnicodeDecodeError as error:
        raise BastionError(f"{path}: not UTF-8 (byte {error.start} of a part); save the file as UTF-8") from error
    except BastionError as error:
        raise BastionError(f"{path}: {error}") from error
