"""Parse a trace, the list of jobs that a cluster had, into arrivals. Pure.

It is strict: a bad line is an error, and no line is left out.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from ..model.errors import BastionError
from ..model.job.spec import JobSpec, check
from ..model.nearest import did_you_mean
from .workload import Arrival

BYTES_MAX = 256 * 1024 * 1024
JOBS_MAX = 1_000_000
LINE_MAX = 1_000
SECONDS_MAX = 100 * 366 * 86_400
AMOUNT_DIGITS = 9

EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
"""The time of second 0 of a trace: a trace counts from a moment of its own."""

NEEDED = ("submit_s", "duration_s", "gpus", "project")
COLUMNS = (*NEEDED, "user", "priority")

_SECONDS = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,6})?")
_WHOLE = re.compile(rf"[0-9]{{1,{AMOUNT_DIGITS}}}")


def read(lines: Iterable[str], kind: str) -> list[Arrival]:
    """Return the jobs of a trace, the earliest first, each asking for `gpus` of this kind.

    The first line names the columns. If the user is empty, each project has one user. If the priority is empty, it is
    5. Raises `BastionError`, which names the line.
    """
    rows = _rows(lines)
    heads = next(rows, (1, []))[1]
    _check_heads(heads)
    make = _Maker(heads, kind)
    arrivals = [make.arrival(number, row) for number, row in rows]
    if not arrivals:
        raise BastionError("line 1: the trace has no jobs; put one on each line below the names of the columns")
    return sorted(arrivals, key=lambda arrival: arrival.at)


def _rows(lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of every line, with its number.

    One line is one row: a cell cannot have a line break in quotes.
    """
    for number, line in enumerate(lines, 1):
        if number > JOBS_MAX + 1:
            raise BastionError(f"line {number}: the trace has more than {JOBS_MAX} jobs; cut it")
        if len(line) > LINE_MAX:
            raise BastionError(f"line {number}: has {len(line)} characters; use at most {LINE_MAX}")
        try:
            yield number, next(csv.reader([line.rstrip("\r\n")], strict=True), [])
        except csv.Error as error:
            raise BastionError(f"line {number}: is not CSV: {error}") from error


def _check_heads(heads: Sequence[str]) -> None:
    for name in heads:
        if name not in COLUMNS:
            raise BastionError(
                f"line 1: {name[:64]!r} is not a column of a trace; {did_you_mean(name[:64], COLUMNS, _use(COLUMNS))}"
            )
        if list(heads).count(name) > 1:
            raise BastionError(f"line 1: names {name} more than once")
    if missing := [name for name in NEEDED if name not in heads]:
        raise BastionError(f"line 1: lacks {', '.join(missing)}; {_use(COLUMNS)}")


def _use(columns: Sequence[str]) -> str:
    return f"use {', '.join(columns)}"


class _Maker:
    """Make jobs from rows. Jobs that ask for the same share one spec."""

    def __init__(self, heads: Sequence[str], kind: str) -> None:
        self._heads, self._kind = heads, kind
        self._spec = lru_cache(65_536)(self._new_spec)

    def arrival(self, number: int, row: Sequence[str]) -> Arrival:
        """Return the job of one row. Raises `BastionError`."""
        if len(row) != len(self._heads):
            raise BastionError(f"line {number}: has {len(row)} cells; line 1 names {len(self._heads)} columns")
        cells = dict(zip(self._heads, row, strict=True))
        amount = _number(number, cells, "gpus", _WHOLE, "a whole number")
        priority = _number(number, cells, "priority", _WHOLE, "a whole number") if cells.get("priority") else 5
        spec, wrong = self._spec(cells["project"], cells.get("user") or cells["project"], int(amount), int(priority))
        if wrong:
            raise BastionError(f"line {number}: {wrong}")
        submit, length = (_number(number, cells, name, _SECONDS, "seconds, 0 or more") for name in NEEDED[:2])
        return Arrival(EPOCH + timedelta(seconds=submit), f"line-{number}", spec, (timedelta(seconds=length),))

    def _new_spec(self, project: str, user: str, amount: int, priority: int) -> tuple[JobSpec, str]:
        spec = JobSpec(
            name="job",
            user=user,
            project=project,
            command=["work"],
            resources={self._kind: amount},
            priority=priority,
            grace_s=0.0,
        )
        return spec, "; ".join(check(spec))


def _number(line: int, cells: Mapping[str, str], name: str, form: re.Pattern[str], use: str) -> float:
    text = cells[name]
    if not form.fullmatch(text) or float(text) > SECONDS_MAX:
        raise BastionError(f"line {line}: {name} is {text[:64]!r}; use {use}, at most {SECONDS_MAX}")
    return float(text)
