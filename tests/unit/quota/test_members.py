"""Membership: plain names stand for themselves, patterns match whole names, and both are prepared once."""

from __future__ import annotations

import re

import pytest

from bastion.quota.members import Members
from bastion.quota.name_patterns import NAME_MAX, complaint
from bastion.quota.quota import Quota

ROWS = {"team1": ("user1",), "team2": ("user[12]",), "team3": (".*",)}


@pytest.mark.parametrize(
    ("user", "projects"),
    [("user1", ("team1", "team2", "team3")), ("user2", ("team2", "team3")), ("user12", ("team3",))],
)
def test_a_user_belongs_where_a_name_or_a_whole_pattern_matches(user: str, projects: tuple[str, ...]) -> None:
    quota = Quota(tiers=({},), members=ROWS)
    assert quota.projects_of(user) == projects
    assert [quota.admits(user, project) for project in ROWS] == [project in projects for project in ROWS]


def test_a_dot_in_a_plain_name_is_a_dot() -> None:
    quota = Quota(tiers=({},), members={"p": ("bob.smith",)})
    assert quota.admits("bob.smith", "p")
    assert not quota.admits("bobXsmith", "p")


def test_names_and_patterns_are_case_sensitive_and_projects_may_have_capitals() -> None:
    quota = Quota(tiers=({},), members={"Vision": ("ann", "svc-.*")})
    assert quota.admits("ann", "Vision")
    assert not any(quota.admits(user, "Vision") for user in ("Ann", "SVC-1"))
    assert not quota.admits("ann", "vision")


def test_alternatives_of_one_pattern_do_not_leak_into_the_next() -> None:
    quota = Quota(tiers=({},), members={"p": ("a|b+", "c[de]")})
    assert [user for user in ("a", "bb", "cd", "ce", "b|c", "ac", "abcd") if quota.admits(user, "p")] == [
        "a",
        "bb",
        "cd",
        "ce",
    ]


def test_nobody_belongs_to_an_unknown_project_or_by_a_name_that_no_job_can_have() -> None:
    quota = Quota(tiers=({},), members={"p": (".*",)})
    assert not quota.admits("ann", "q")
    assert not quota.admits("a" * (NAME_MAX + 1), "p")


def test_without_a_quota_file_everybody_belongs_everywhere() -> None:
    quota = Quota.open({"v4": 8})
    assert quota.admits("ann", "anything")
    assert quota.projects_of("ann") == ("default",)
    assert quota.total() == {"v4": 8}


def test_a_thousand_patterns_and_five_thousand_jobs_compile_once_a_project_and_match_once_a_user() -> None:
    made: list[str] = []
    asked: list[str] = []

    class Counted:
        def __init__(self, pattern: str) -> None:
            made.append(pattern)
            self._pattern = re.compile(pattern)

        def fullmatch(self, name: str) -> re.Match[str] | None:
            asked.append(name)
            return self._pattern.fullmatch(name)

    rows = {f"p{n}": tuple(f"user{n}x{m}-[a-z]+" for m in range(10)) for n in range(100)}
    members = Members(rows, make=Counted)  # type: ignore[arg-type]
    for job in range(5_000):
        assert members.projects_of(f"user{job % 50}x3-a") == {f"p{job % 50}"}
    assert len(made) == 100
    assert len(asked) == 50 * 100


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+",
        "(a|aa)*",
        "(aa|aa){20}",
        ".*.*.*.*x",
        "a?" * 30,
        "(aa|aa)" * 28,
        "(?=a)",
        "(?i)a",
        r"(a)\1",
        "(?P<n>a)",
        "a**",
        "a++",
        "(",
        ")",
        "[a",
        "*a",
        "a{2",
        "\\",
        "[z-a]",
        "",
        "a" * 201,
        "((a?)?b?)" * 10,
    ],
)
def test_patterns_that_could_run_for_ever_or_are_none_are_refused(pattern: str) -> None:
    assert complaint(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        ".*",
        "user[12]",
        "svc-.*",
        "(ann|bob)@corp[.]com",
        r"[a-z]+\.[a-z]+@[a-z]+\.com",
        "team-(a|b)?",
        "x{2,4}",
        "a+?b",
        "[]a]b",
        "(?:ann|bob)-[0-9]{1,3}",
        r"\d+",
        "a|b|c",
        "^ann$",
    ],
)
def test_ordinary_patterns_are_accepted(pattern: str) -> None:
    assert complaint(pattern) is None


def test_admins_of_a_project_are_named_like_members_and_need_not_be_any() -> None:
    quota = Quota(tiers=({},), members=ROWS, admins={"team1": ("ann", "lead-.*")})
    assert [user for user in ("ann", "lead-1", "mislead-1", "user1") if quota.administers(user, "team1")] == [
        "ann",
        "lead-1",
    ]
    assert not quota.administers("ann", "team2")
    assert not Quota.open().administers("ann", "default")
