"""Warnings about a quota, and the changes that a new one makes: lines for the people who edit it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from difflib import get_close_matches
from fractions import Fraction

from .quota import GRANTED, Quota
from .shares import TOLERANCE, given_out, units

NOTHING = Quota(tiers=({},))

Lists = Mapping[str, tuple[str, ...]]


def warnings(quota: Quota) -> tuple[str, ...]:
    """Return a line for each thing that is valid but perhaps not intended."""
    shared = {kind for row in quota.shares.values() for kind, share in row.items() if share}
    return (
        *(
            f"{kind}: no project has a share of it, so every project may use all of it"
            for kind in quota.total()
            if kind not in shared
        ),
        *(f"{name}: has shares but no members{_meant(name, quota.members)}" for name in _without(quota, "members")),
        *(f"{name}: has members but no shares: it can only borrow" for name in _without(quota, "shares")),
        *_idle("admins", quota.admins, quota),
        *_idle("classes", quota.classes, quota),
        *_idle("user limits", quota.user_limits, quota),
        *_free(quota),
        *_none(quota),
        *_one(quota),
        *_boundless(quota),
    )


def diff(old: Quota | None, new: Quota) -> tuple[str, ...]:
    """Return one line for each change from an old quota (None: there was none) to a new one."""
    old = old or NOTHING
    return (
        *_tiers(old, new),
        *_shares(old, new),
        *_lists("members", old.members, new.members),
        *_lists("admins", old.admins, new.admins),
        *_lists("classes", old.classes, new.classes),
        *_user_limits(old, new),
    )


def _without(quota: Quota, what: str) -> list[str]:
    with_members = {project for project, row in quota.members.items() if row}
    with_shares = {project for project, row in quota.shares.items() if any(row.values())}
    return sorted(with_shares - with_members if what == "members" else with_members - with_shares)


def _idle(what: str, table: Mapping[str, Collection[str]], quota: Quota) -> Iterator[str]:
    """Yield a line for each project with a row in this table, but without members and shares."""
    known = {*quota.members, *quota.shares}
    for name in sorted(name for name, row in table.items() if row and name not in known):
        yield f"{name}: has {what} but neither members nor shares{_meant(name, known)}"


def _free(quota: Quota) -> Iterator[str]:
    for project, row in sorted(quota.classes.items()):
        for job_class in (name for name in row if name not in GRANTED):
            yield f"{project}: the class {job_class} needs no grant: every project may use it"


def _none(quota: Quota) -> Iterator[str]:
    """Yield a line for each share that is too small for one unit."""
    totals = quota.total()
    given = units(quota, totals)
    for project, row in sorted(quota.shares.items()):
        for kind, share in row.items():
            if share and not given[project][kind] and totals.get(kind, 0):
                of = f"{float(share):g} of {totals[kind]} {kind} is less than one unit"
                yield f"{project}: {of}, so it is promised nothing; {_least(quota, project, kind)}"


def _least(quota: Quota, project: str, kind: str) -> str:
    """Say which fraction is the smallest that gives a project one unit of a kind while other shares stay as they are.

    The search goes from the present share up to the fraction that is one unit itself.
    """
    whole = quota.total()[kind]
    shares = {name: row[kind] for name, row in quota.shares.items() if kind in row}
    fixed = {name for name in shares if (name, kind) in quota.amounts}
    rest = sum(share for name, share in shares.items() if name != project)
    step = Fraction(1, 10 ** (len(str(whole)) + 1))
    low, high = int(shares[project] / step), -(-Fraction(1, whole) // step)
    while high - low > 1:
        middle = (low + high) // 2
        one = given_out({**shares, project: middle * step}, whole, fixed - {project})[project] > 0
        low, high = (low, middle) if one else (middle, high)
    over = ", with less for the others" if rest + high * step > 1 + TOLERANCE else ""
    return f"{float(high * step):g} is one unit{over}"


def _one(quota: Quota) -> Iterator[str]:
    """Yield a line for each whole 1 that means one unit and could have been meant as all of the kind."""
    totals = quota.total()
    for project, kind in sorted(quota.amounts):
        if quota.shares[project][kind] * totals[kind] == 1 < totals[kind]:
            others = (row.get(kind) for name, row in quota.shares.items() if name != project)
            if not any((name, kind) in quota.amounts for name in quota.shares if name != project) and any(others):
                yield f"{project}: {kind} = 1 means 1 of {totals[kind]} units, as others have shares too; for all, use 1.0"


def _boundless(quota: Quota) -> Iterator[str]:
    """Yield a line for each user limit that allows everything, or nothing."""
    totals = quota.total()
    for project, row in sorted(quota.user_limits.items()):
        for kind, amount in row.items():
            if not amount:
                yield f"{project}: no user may hold any {kind}, so no job that asks for it starts"
            elif amount >= totals.get(kind, 0):
                yield f"{project}: a user limit of {amount} {kind} has no effect: the total is {totals.get(kind, 0)}"


def _meant(project: str, members: Iterable[str]) -> str:
    near = get_close_matches(project, [name for name in members if name != project], 1)
    return f" (did you mean {near[0]}?)" if near else ""


def _tiers(old: Quota, new: Quota) -> Iterator[str]:
    many = max(len(old.tiers), len(new.tiers)) > 1
    for number in range(max(len(old.tiers), len(new.tiers))):
        before = old.tiers[number] if number < len(old.tiers) else {}
        after = new.tiers[number] if number < len(new.tiers) else {}
        for kind in dict.fromkeys((*before, *after)):
            if before.get(kind, 0) != after.get(kind, 0):
                where = f" of tier {number}" if many else ""
                yield f"total {kind}{where}: {before.get(kind, 0)} -> {after.get(kind, 0)}"


def _shares(old: Quota, new: Quota) -> Iterator[str]:
    after = new.total()
    had, has = units(old, old.total()), units(new, after)
    for project in sorted({*old.shares, *new.shares}):
        was, now = old.shares.get(project, {}), new.shares.get(project, {})
        for kind in dict.fromkeys((*was, *now)):
            a, b = was.get(kind, Fraction(0)), now.get(kind, Fraction(0))
            if a != b:
                promised = f"{had.get(project, {}).get(kind, 0)} -> {has.get(project, {}).get(kind, 0)}"
                yield f"{project}: {kind} share {float(a):.6g} -> {float(b):.6g} ({promised} of {after.get(kind, 0)})"


def _user_limits(old: Quota, new: Quota) -> Iterator[str]:
    for project in sorted({*old.user_limits, *new.user_limits}):
        was, now = old.user_limit(project), new.user_limit(project)
        for kind in dict.fromkeys((*was, *now)):
            if was.get(kind) != now.get(kind):
                yield f"{project}: user limit of {kind}: {was.get(kind, 'none')} -> {now.get(kind, 'none')}"


def _lists(group: str, old: Lists, new: Lists) -> Iterator[str]:
    for project in sorted({*old, *new}):
        was, now = old.get(project, ()), new.get(project, ())
        for what, names in (
            ("added", [name for name in now if name not in set(was)]),
            ("removed", [name for name in was if name not in set(now)]),
        ):
            if names:
                yield f"{project}: {group} {what}: {', '.join(names)}"
