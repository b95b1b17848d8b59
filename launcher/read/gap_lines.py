"""Show gaps of the journal to people and to scripts. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from bastion.model.stored.gaps import Hole

from .job_rows import Row, rfc3339


def lines(holes: Iterable[Hole]) -> list[str]:
    """Return one line for each gap: what cannot be read, and the time of the events that may be missing."""
    return [f"{_what(hole)}; events {_when(hole)} may be missing" for hole in holes]


def rows(holes: Iterable[Hole]) -> dict[str, list[Row]]:
    """Return `{"holes": [...]}` for scripts, or nothing if there are no gaps."""
    found = [
        {
            "first": hole.first,
            "last": hole.last,
            "problem": hole.problem,
            "after": rfc3339(hole.after),
            "before": rfc3339(hole.before),
        }
        for hole in holes
    ]
    return {"holes": found} if found else {}


def _what(hole: Hole) -> str:
    return hole.problem if hole.first == hole.last else f"{hole.problem}, and so on to {hole.last}"


def _when(hole: Hole) -> str:
    if hole.after and hole.before:
        return f"between {rfc3339(hole.after)} and {rfc3339(hole.before)}"
    if hole.after:
        return f"after {rfc3339(hole.after)}"
    return f"before {rfc3339(hole.before)}" if hole.before else "of any time"
