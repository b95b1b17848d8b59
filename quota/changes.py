"""What is odd about a quota, and what a new one changes: lines for the people who edit it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from fractions import Fraction

from quota.model import Quota
from quota.shares import promised

NOTHING = Quota(tiers=({},))

People = Mapping[str, tuple[str, ...]]


def warnings(quota: Quota) -> tuple[str, ...]:
    """What is legal, and yet perhaps not meant."""
    shared = {kind for row in quota.shares.values() for kind, share in row.items() if share}
    return (
        *(
            f"{kind}: nobody has a share, so it goes to whoever is first"
            for kind in quota.total()
            if kind not in shared
        ),
        *(f"{name}: has shares but no members{_meant(name, quota.members)}" for name in _without(quota, "members")),
        *(f"{name}: has members but no shares, it can only borrow" for name in _without(quota, "shares")),
        *(
            f"{name}: has admins, and neither members nor shares{_meant(name, _projects(quota))}"
            for name in _idle(quota)
        ),
    )


def diff(old: Quota | None, new: Quota) -> tuple[str, ...]:
    """One line for each change from an old quota (None: there was none) to a new one."""
    old = old or NOTHING
    members, admins = (old.members, new.members), (old.admins, new.admins)
    return (*_tiers(old, new), *_shares(old, new), *_people("members", *members), *_people("admins", *admins))


def _without(quota: Quota, what: str) -> list[str]:
    with_members = {project for project, row in quota.members.items() if row}
    with_shares = {project for project, row in quota.shares.items() if any(row.values())}
    return sorted(with_shares - with_members if what == "members" else with_members - with_shares)


def _projects(quota: Quota) -> set[str]:
    return {*quota.members, *quota.shares}


def _idle(quota: Quota) -> list[str]:
    return sorted(name for name, row in quota.admins.items() if row and name not in _projects(quota))


def _meant(project: str, members: Iterable[str]) -> str:
    near = get_close_matches(project, [name for name in members if name != project], 1)
    return f" (is {near[0]} meant?)" if near else ""


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
    before, after = old.total(), new.total()
    for project in sorted({*old.shares, *new.shares}):
        was, now = old.shares.get(project, {}), new.shares.get(project, {})
        for kind in dict.fromkeys((*was, *now)):
            a, b = was.get(kind, Fraction(0)), now.get(kind, Fraction(0))
            if a != b:
                units = f"{promised(a, before.get(kind, 0))} -> {promised(b, after.get(kind, 0))}"
                yield f"{project}: {kind} share {float(a):.6g} -> {float(b):.6g} ({units} of {after.get(kind, 0)})"


def _people(role: str, old: People, new: People) -> Iterator[str]:
    for project in sorted({*old, *new}):
        was, now = old.get(project, ()), new.get(project, ())
        for what, names in (
            ("added", [name for name in now if name not in set(was)]),
            ("removed", [name for name in was if name not in set(now)]),
        ):
            if names:
                yield f"{project}: {role} {what}: {', '.join(names)}"
