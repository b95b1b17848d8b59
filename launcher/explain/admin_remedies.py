"""Changes that an admin may make so that a job starts: limits, shares, the capacity. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bastion.model.wording import listed
from bastion.quota.resources import total
from bastion.quota.shares import Shares

from .remedies import AmountChange, Told
from .smallest import Amounts
from .supply import Supply
from .what_if_state import WhatIfCase, allowed, enlarged, granted, total_capacity


def grants(at: Supply) -> Iterator[AmountChange]:
    """Yield the changes: a limit, a share where one could help, and more machines."""
    if limits := at.limits():
        yield _limit(at, limits)
    if governed := [kind for kind in at.lack() if kind in at.shares.governed and at.shares.capacity.get(kind)]:
        yield _share(at, governed)
    yield _more_capacity(at)


def _limit(at: Supply, limits: Mapping[str, int]) -> AmountChange:
    """Raise the limit of each user of the project."""
    project = at.job.project

    def made(case: WhatIfCase, more: Amounts) -> WhatIfCase:
        return allowed(case, project, {kind: limits[kind] + n for kind, n in more.items()})

    def told(more: Amounts) -> Told:
        new = {kind: limits[kind] + n for kind, n in more.items() if n}
        return (
            f"a limit of {listed([f'{n} {kind}' for kind, n in new.items()])} for each user of {project}",
            "",
            {"user_limits": {project: new}},
        )

    guess = {kind: max(0, at.own.get(kind, 0) + at.job.demand[kind] - n) for kind, n in limits.items()}
    top = {kind: at.shares.capacity.get(kind, 0) + at.job.demand[kind] for kind in limits}
    return AmountChange(what="user_limit", guess=guess, top=top, made=made, told=told, later=True)


def _share(at: Supply, kinds: Sequence[str]) -> AmountChange:
    """Raise the share of the project."""
    project, there, used = at.job.project, at.shares.capacity, at.used.get(at.job.project, {})
    own = {kind: at.shares.units(project).get(kind, 0) for kind in kinds}

    def made(case: WhatIfCase, more: Amounts) -> WhatIfCase:
        return granted(case, project, {kind: own[kind] + n for kind, n in more.items() if n}, at.used)

    def told(more: Amounts) -> Told:
        rows = _moved(at.case, made(at.case, more))
        gains = [f"+{row['to'] - row['from']} {row['kind']}" for row in rows if row["project"] == project]
        gives = [
            f"{row['from'] - row['to']} {row['kind']} of {row['project']}" for row in rows if row["project"] != project
        ]
        text = f"{listed(gains)} for {project}" + (f" ({listed(gives)})" if gives else "")
        return text, "", {"shares": rows}

    top = {kind: there[kind] - own[kind] for kind in kinds}
    guess = {kind: min(top[kind], max(0, used.get(kind, 0) + at.job.demand[kind] - own[kind])) for kind in kinds}
    return AmountChange(what="share", guess=guess, top=top, made=made, told=told, later=True)


def _moved(before: WhatIfCase, after: WhatIfCase) -> list[dict[str, Any]]:
    """List the shares that differ.

    Each row has the units that are promised before and after, and the new `share` as the quota file has it.
    """
    was, new = before.inputs.quota, after.inputs.quota
    assert was is not None
    assert new is not None
    units, then = Shares(was, total_capacity(before)), Shares(new, total_capacity(after))
    rows = []
    for project, row in new.shares.items():
        for kind, share in row.items():
            if share != was.shares.get(project, {}).get(kind, 0):
                of = {"from": units.units(project).get(kind, 0), "to": then.units(project)[kind]}
                rows.append({"project": project, "kind": kind, **of, "share": float(share)})
    return rows


def _more_capacity(at: Supply) -> AmountChange:
    """Add machines."""

    def made(case: WhatIfCase, more: Amounts) -> WhatIfCase:
        return enlarged(case, more)

    def told(more: Amounts) -> Told:
        added = {kind: n for kind, n in more.items() if n}
        return f"{listed([f'{n} more {kind}' for kind, n in added.items()])} in the fleet", "", {"more": added}

    before = total(other.demand for other in at.ahead)
    top = {kind: at.shares.capacity.get(kind, 0) + at.job.demand[kind] + before.get(kind, 0) for kind in at.lack()}
    return AmountChange(what="pool", guess=at.lack(), top=top, made=made, told=told)
