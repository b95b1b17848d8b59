"""A quota file is read strictly: every complaint is told at once, with its line and the name of the key."""

from __future__ import annotations

from fractions import Fraction

import pytest

from bastion.quota.demand import CLASSES
from bastion.quota.quota import GRANTED, Quota, QuotaError
from bastion.quota.quota_file import BYTES_MAX, parse

HEAD = '[toml-schema]\nversion = "1"\n'
GOOD = (
    HEAD
    + """
[total_resources]
v4 = 32
cpu = 64

[project_membership]
nlp = ["ann", "bob.smith", "svc-.*"]
Vision = ['carl']

[project_admins]
nlp = ["ann", "lead-.*"]

[project_resources.nlp]
v4 = 0.6

[project_resources.Vision]
v4 = 0.4
cpu = 1

[project_classes]
nlp = ["urgent"]

[user_limits]
nlp = { v4 = 16 }
Vision = {}
"""
)


def complaints(text: str) -> tuple[str, ...]:
    with pytest.raises(QuotaError) as caught:
        parse(text)
    return caught.value.complaints


def test_a_good_file_is_read_with_exact_shares() -> None:
    quota = parse(GOOD)
    assert quota.tiers == ({"v4": 32, "cpu": 64},)
    assert quota.shares == {"nlp": {"v4": Fraction(3, 5)}, "Vision": {"v4": Fraction(2, 5), "cpu": Fraction(1)}}
    assert quota.members == {"nlp": ("ann", "bob.smith", "svc-.*"), "Vision": ("carl",)}
    assert quota.admins == {"nlp": ("ann", "lead-.*")}
    assert quota.classes == {"nlp": ("urgent",)}
    assert quota.user_limits == {"nlp": {"v4": 16}, "Vision": {}}


def test_only_urgent_needs_a_grant_and_only_where_there_is_a_quota_file() -> None:
    assert set(CLASSES) > GRANTED
    quota = parse(GOOD)
    assert [quota.grants("nlp", name) for name in CLASSES] == [True, True, True]
    assert [quota.grants("Vision", name) for name in CLASSES] == [False, True, True]
    assert Quota.open().grants("default", "urgent")


def test_a_user_limit_is_of_one_project_and_of_the_kinds_that_it_names() -> None:
    quota = parse(GOOD)
    assert quota.user_limit("nlp") == {"v4": 16}
    assert quota.user_limit("Vision") == quota.user_limit("elsewhere") == Quota.open().user_limit("default") == {}


def test_an_array_of_tables_is_tiers_best_first() -> None:
    quota = parse(HEAD + "[[total_resources]]\nv4 = 8\n[[total_resources]]\nv4 = 4\nv5 = 2\n")
    assert quota.tiers == ({"v4": 8}, {"v4": 4, "v5": 2})
    assert quota.total() == {"v4": 12, "v5": 2}


def test_a_third_three_times_is_all_there_is() -> None:
    rows = "".join(f"[project_resources.p{n}]\nv4 = 0.334\n" for n in range(3))
    assert len(parse(HEAD + "[total_resources]\nv4 = 9\n" + rows).shares) == 3


TOTAL = HEAD + "[total_resources]\nv4 = 8\n"  # lines 1 to 4


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("x = \n", 1, "not TOML"),
        ("\nx = 0x" + "f" * 5_000, 2, "not TOML: a whole number needs more than 64 bits"),
        ("[total_resources]\nv4 = 8\n", 1, "toml-schema is missing"),
        ('[toml-schema]\nversion = "2"\n[total_resources]\n', 2, "toml-schema.version is '2'"),
        ("[toml-schema]\n[total_resources]\n", 1, "version is not given"),
        ("toml-schema = 3\n[total_resources]\n", 1, "toml-schema is 3; use a table"),
        (HEAD, 1, "total_resources is missing"),
        ("total_resources = []\n" + HEAD, 1, "has 0 tiers"),
        (HEAD + "[total_resources]\nv4 = 8.5\n", 4, "total_resources.v4 is 8.5; use a whole number"),
        (HEAD + "[total_resources]\nv4 = -1\n", 4, "total_resources.v4 is -1"),
        (HEAD + "[total_resources]\nv4 = true\n", 4, "total_resources.v4 is true"),
        (HEAD + "[total_resources]\nv4 = 1_000_000_000_000_000\n", 4, "use a whole number"),
        (HEAD + '[total_resources]\n"v 4" = 8\n', 4, "total_resources.v 4 is not a valid name"),
        (HEAD + "[[total_resources]]\nv4 = 8\n[[total_resources]]\nv4 = '4'\n", 6, "total_resources.1.v4 is '4'"),
        (TOTAL + "[project_memberships]\n", 5, "did you mean project_membership?"),
        (TOTAL + "[project_membership]\nnlp = 'ann'\n", 6, "project_membership.nlp is 'ann'; use a list"),
        (TOTAL + "[project_membership]\nnlp = ['ann', 3]\n", 6, "use a list"),
        (TOTAL + "[project_membership]\n'n/lp' = []\n", 6, "n/lp is not a valid name"),
        (TOTAL + "[project_membership]\nnlp = [\n  'ann',\n  '(a+)+',\n]\n", 8, "a group is repeated"),
        (TOTAL + "[project_membership]\nnlp = ['']\n", 6, "has 0 characters"),
        (TOTAL + "[project_membership]\nnlp = ['" + "a" * 201 + "']\n", 6, "has 201 characters"),
        (TOTAL + "[project_admin]\n", 5, "did you mean project_admins?"),
        (TOTAL + "[project_admins]\nnlp = 'ann'\n", 6, "project_admins.nlp is 'ann'; use a list"),
        (TOTAL + "[project_admins]\n'n/lp' = []\n", 6, "n/lp is not a valid name"),
        (TOTAL + "[project_admins]\nnlp = [\n  'ann',\n  '(a+)+',\n]\n", 8, "a group is repeated"),
        (TOTAL + "[project_classes]\nnlp = 'urgent'\n", 6, "project_classes.nlp is 'urgent'; use a list of classes"),
        (
            TOTAL + "[project_classes]\nnlp = [\n  'urgnt',\n]\n",
            7,
            "nlp: 'urgnt' is not a class of jobs; did you mean urgent?",
        ),
        (TOTAL + "[project_classes]\nnlp = ['gold']\n", 6, "use scavenger, standard, urgent"),
        (TOTAL + "[project_classes]\n'n/lp' = []\n", 6, "n/lp is not a valid name"),
        (TOTAL + "[user_limits]\nnlp = 8\n", 6, "user_limits.nlp is 8; use a table of amounts, as in v4 = 64"),
        (TOTAL + "[user_limits]\nnlp = { v4 = 0.5 }\n", 6, "user_limits.nlp.v4 is 0.5; use a whole number, 0 to"),
        (TOTAL + "[user_limits.nlp]\nv4 = -1\n", 6, "user_limits.nlp.v4 is -1; use a whole number"),
        (TOTAL + "[user_limits.nlp]\nv44 = 1\n", 6, "a kind that total_resources does not have; did you mean v4?"),
        (TOTAL + "[user_limits]\n'n/lp' = {}\n", 6, "n/lp is not a valid name"),
        (TOTAL + "[project_resources]\nnlp = 0.5\n", 6, "use a table of shares"),
        (TOTAL + "[project_resources.nlp]\nv4 = 9\n", 6, "project_resources.nlp.v4 is 9, and the total is 8; use"),
        (TOTAL + "[project_resources.nlp]\nv4 = -0.5\n", 6, "is -0.5"),
        (TOTAL + "[project_resources.nlp]\nv4 = nan\n", 6, "is 'nan'"),
        (TOTAL + "[project_resources.nlp]\nv4 = 1e999999999\n", 6, "is '1e999999999'"),
        (TOTAL + "[project_resources.nlp]\nv4 = 1e-999999999\n", 6, "is '1e-999999999'"),
        (
            TOTAL + "[project_resources.nlp]\nv5 = 0.5\n",
            6,
            "nlp.v5 is a kind that total_resources does not have; use v4",
        ),
        (TOTAL + "[project_resources.nlp]\nv44 = 0.5\n", 6, "did you mean v4?"),
        (TOTAL + "[project_resources.a]\nv4 = 0.7\n[project_resources.b]\nv4 = 0.5\n", 8, "shares of v4 to 1.2"),
    ],
)
def test_each_complaint_names_its_line_and_its_key(text: str, line: int, words: str) -> None:
    found = complaints(text)
    assert any(row.startswith(f"line {line}: ") and words in row for row in found), found


def test_all_complaints_come_at_once_in_the_order_of_their_lines() -> None:
    found = complaints(TOTAL + "[project_resources.nlp]\nv4 = 9\nv5 = 0.1\n[project_membership]\nnlp = 1\n[quota]\n")
    assert [row.split(":")[0] for row in found] == ["line 6", "line 7", "line 9", "line 10"]


@pytest.mark.parametrize("text", ["x = " + "[" * 100_000, "x = " + "9" * 5_000, "x = 0x" + "f" * 100, "\0", "\ud800"])
def test_hostile_text_is_a_complaint_and_no_crash(text: str) -> None:
    assert complaints(text)


def test_a_huge_file_is_refused_before_it_is_read() -> None:
    assert "use at most 1048576" in complaints("#" * (BYTES_MAX + 1))[0]


@pytest.mark.parametrize("table", ["project_membership", "project_admins", "project_classes"])
def test_ten_thousand_and_one_projects_are_too_many(table: str) -> None:
    rows = "".join(f"p{n} = []\n" for n in range(10_001))
    assert any("at most 10000" in row for row in complaints(TOTAL + f"[{table}]\n" + rows))
