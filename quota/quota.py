"""The quota of a fleet as a value: tiers, shares, members and admins. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from .members import Members
from .resources import Resources, total

OPEN_PROJECT = "default"

GRANTED = frozenset({"urgent"})
"""The classes of jobs that a project needs a grant for. All other classes are open to everybody."""


class QuotaError(Exception):
    """The error of a quota file that cannot be used. `complaints` lists all its faults, each as `line N: ...`."""

    def __init__(self, complaints: Sequence[str]) -> None:
        super().__init__("; ".join(complaints))
        self.complaints = tuple(complaints)


@dataclass(frozen=True, kw_only=True, slots=True)
class Quota:
    """The content of one quota file: what the fleet holds, and the shares, members and admins of each project.

    tiers: units by kind that each tier holds, best tier first.
    shares: the share of each project, by project and kind: an exact fraction of the total of the kind.
    members: user names or name patterns of the members, by project.
    admins: user names or name patterns of the admins, by project. An admin need not be a member.
    classes: the classes of jobs that a project was granted, by project.
    user_limits: units by kind that each user of a project may hold at once, by project. A missing kind has no limit.
    amounts: the (project, kind) pairs whose share the file gives as a number of units: that many of the total.
    is_open: True if there is no quota file; see `open`.
    promises: cache of `bastion.quota.shares.units`, by the sorted (kind, amount) rows of a capacity.

    Build a quota once and keep it: each pattern is compiled at most once in its life.
    """

    tiers: tuple[Resources, ...]
    shares: Mapping[str, Mapping[str, Fraction]] = field(default_factory=dict)
    members: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    admins: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    classes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    user_limits: Mapping[str, Resources] = field(default_factory=dict)
    amounts: frozenset[tuple[str, str]] = frozenset()
    is_open: bool = False
    promises: dict[tuple[tuple[str, int], ...], Mapping[str, Mapping[str, int]]] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )
    _members: Members = field(init=False, repr=False, compare=False)
    _admins: Members = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_members", Members(self.members))
        object.__setattr__(self, "_admins", Members(self.admins))

    @classmethod
    def open(cls, capacity: Resources | None = None) -> Quota:
        """Return the quota of a single user's fleet, which has no quota file.

        Everybody is a member of every project, and no project has a share. This quota bounds nothing beyond
        `capacity`; `bastion.quota.tiers.tier_amounts` fills in what runners report.
        """
        return cls(tiers=(dict(capacity or {}),), is_open=True)

    def total(self) -> Resources:
        """Return the units by kind that all tiers hold together."""
        return total(self.tiers)

    def admits(self, user: str, project: str) -> bool:
        """Return True if the user belongs to the project."""
        return self.is_open or project in self._members.projects_of(user)

    def holder(self, user: str, project: str) -> str:
        """Return the name under which a user of a project holds resources.

        For a member it is the project itself; all users who left the project share another name. That other name is
        not a project, so it has no share: all that is held under it is borrowed.
        """
        return project if self.admits(user, project) else f"{project} (members who left)"

    def administers(self, user: str, project: str) -> bool:
        """Return True if the user may stop, hold and change the jobs of the project."""
        return project in self._admins.projects_of(user)

    def grants(self, project: str, job_class: str) -> bool:
        """Return True if jobs of the project may have this class. Without a quota file every class is allowed."""
        return self.is_open or job_class not in GRANTED or job_class in self.classes.get(project, ())

    def user_limit(self, project: str) -> Resources:
        """Return the units by kind that each user of the project may hold at once. A missing kind has no limit."""
        return self.user_limits.get(project, {})

    def projects_of(self, user: str) -> tuple[str, ...]:
        """Return the projects of a user, sorted by name. Without a quota file it is the one project `default`."""
        return (OPEN_PROJECT,) if self.is_open else tuple(sorted(self._members.projects_of(user)))
