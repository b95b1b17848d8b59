"""The words of the quota room. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from .members import Members
from .resources import Resources, total

OPEN_PROJECT = "default"

GRANTED = frozenset({"urgent"})
"""The classes of jobs that a project needs a grant for; the others are everybody's."""


class QuotaError(Exception):
    """The quota file cannot be used. `complaints` are all that is wrong with it, each as `line N: ...`."""

    def __init__(self, complaints: Sequence[str]) -> None:
        super().__init__("; ".join(complaints))
        self.complaints = tuple(complaints)


@dataclass(frozen=True, kw_only=True, slots=True)
class Quota:
    """What the fleet holds, which part of it each project is promised, who belongs to each, and who looks after it.

    `tiers` are best first. `shares` are exact fractions of the total of a kind, by project and kind. `members` and
    `admins` are plain names or patterns, by project; an admin need not be a member. `classes` are the classes of jobs
    that projects were granted, `user_limits` what each user of a project may hold at once. Build one and keep it:
    patterns are compiled at most once in its life. `amounts` are the (project, kind) whose share the file gives as a number
    of units: that many of the total. `promises` remembers what `bastion.quota.shares` made of it.
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
        """No quota file: a single user's fleet. Everybody is a member of every project, and nobody has a share.

        It bounds nothing beyond `capacity`; `bastion.quota.tiers.pool` fills in what runners report.
        """
        return cls(tiers=(dict(capacity or {}),), is_open=True)

    def total(self) -> Resources:
        """What all tiers hold together."""
        return total(self.tiers)

    def admits(self, user: str, project: str) -> bool:
        """True if the user belongs to the project."""
        return self.is_open or project in self._members.projects_of(user)

    def holder(self, user: str, project: str) -> str:
        """In whose name a user of a project holds what they hold: the project's, or that of those who left it.

        The latter is no name of a project, so it has no share: all that they hold is borrowed.
        """
        return project if self.admits(user, project) else f"{project} (members who left)"

    def administers(self, user: str, project: str) -> bool:
        """True if the user may stop, hold and change the jobs of the project."""
        return project in self._admins.projects_of(user)

    def grants(self, project: str, job_class: str) -> bool:
        """True if jobs of the project may be of this class. Without a quota file all may."""
        return self.is_open or job_class not in GRANTED or job_class in self.classes.get(project, ())

    def user_limit(self, project: str) -> Resources:
        """What each user of the project may hold of it at once; a kind that is missing is not limited."""
        return self.user_limits.get(project, {})

    def projects_of(self, user: str) -> tuple[str, ...]:
        """The projects of a user, in order of their names; without a quota file the one named `default`."""
        return (OPEN_PROJECT,) if self.is_open else tuple(sorted(self._members.projects_of(user)))
