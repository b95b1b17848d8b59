"""Rules for settings about runners. Only an installation knows which runners exist. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..errors import SpecError
from ..job.alternatives import KIND
from ..job.instances import KINDS, resources
from ..job.spec import TIER_MAX
from ..nearest import did_you_mean
from ..wording import one_line, shown

Placing = Mapping[str, str | Sequence[str]]
"""The runner for each kind or instance type.

A list names the runners of the tiers 0, 1, ...; its last one also counts for all further tiers.
"""

RUNNER = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_RUNNERS_MAX = 32
_DEPTH_MAX = 16  # deeper than a pod's affinity in its template
_PLACED_MAX = 256
_FAMILIES = tuple(f"{family}-" for family in KINDS)


def faults_of_runners(value: list[str]) -> Iterator[str]:
    """Check the list of runners; yield complaints."""
    if not value or len(set(value)) != len(value):
        yield "is empty, or names one twice; use each runner once"
    if len(value) > _RUNNERS_MAX:
        yield f"names {len(value)} runners; at most {_RUNNERS_MAX} are allowed"
    for runner in value:
        if not RUNNER.fullmatch(runner):
            yield f"has {shown(runner)}; use the names of runners, as in local"


def faults_of_placing(value: Placing) -> Iterator[str]:
    """Check the runners by kind and instance type; yield complaints."""
    if len(value) > _PLACED_MAX:
        yield f"has {len(value)} rows; at most {_PLACED_MAX} are allowed"
    for key, row in value.items():
        if not 1 <= len(row) <= TIER_MAX + 1 and not isinstance(row, str):
            yield f"names {len(row)} runners for {shown(key)}; use one, or 1 to {TIER_MAX + 1} for the tiers"
        if not KIND.fullmatch(key):
            yield f"has {shown(key)}; use kinds and instance types, as in v4 and tpu-v4-32"
        elif key.startswith(_FAMILIES):
            try:
                resources(key)
            except SpecError as error:
                yield f"has {shown(key)}: {error}"


def row_of(row: str | Sequence[str]) -> Sequence[str]:
    """Return the runners of a row of placing, by tier."""
    return [row] if isinstance(row, str) else row


def strays(placing: Placing, runners: Sequence[str], policy: str) -> Iterator[str]:
    """Check placing against these runners and this policy; yield complaints."""
    for key, row in placing.items():
        for runner in dict.fromkeys(row_of(row)):
            if runner not in runners:
                use = f"use one of runners: {', '.join(runners)}"
                yield f"sends {key} to {shown(runner)}; {did_you_mean(runner, runners, use)}"
        if policy == "axlearn" and len({*row_of(row)}) > 1:
            yield f"sends tiers of {key} to several runners, and policy axlearn knows one for all; use policy default"


def faults_of_options(value: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Check the runners' tables, without knowing what they mean to their runners; yield complaints."""
    if len(value) > _RUNNERS_MAX:
        yield f"has {len(value)} tables; at most {_RUNNERS_MAX} are allowed"
    for runner, table in value.items():
        if not RUNNER.fullmatch(runner):
            yield f"has {shown(runner)}; use the names of runners, as in local"
        yield from _odd(runner, table, 0)


def _odd(path: str, value: Any, depth: int) -> Iterator[str]:
    """Yield values that no runner can take: dates, NaN and infinity, and tables that are nested too deep."""
    if depth > _DEPTH_MAX:
        yield f"{one_line(path, 60)} is more than {_DEPTH_MAX} tables deep; use fewer"
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _odd(f"{path}.{key}", inner, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            yield from _odd(path, inner, depth + 1)
    elif not isinstance(value, str | int | float) or value != value or value in (float("inf"), float("-inf")):
        yield f"{one_line(path, 60)} is {shown(value)}; use texts, numbers, true and false, and lists and tables of them"
