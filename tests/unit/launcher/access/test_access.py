"""Rights as a store tells them: conditions are read as Google reads them, and what is wrong is found and said."""

from __future__ import annotations

from typing import Any

import pytest

from bastion.launcher.access.bucket_rights import BucketPart, BucketRights, checks, folder, read
from bastion.launcher.access.health_checks import FILES, PREFIXES, HealthLevel
from bastion.launcher.access.iam_conditions import holds
from bastion.model import layout

NAME = "projects/_/buckets/b/objects/team/inbox/alice/r.json"
CLOSED = {"uniformBucketLevelAccess": {"enabled": True}, "publicAccessPrevention": "enforced"}
BASTION = "serviceAccount:bastion@p"


def starts(prefix: str) -> str:
    return f'resource.name.startsWith("projects/_/buckets/b/objects/{prefix}")'


@pytest.mark.parametrize(
    ("expression", "answer"),
    [
        ("", True),
        (starts("team/inbox/alice/"), True),
        (starts("team/inbox/al/"), False),
        (starts("team/inbox/al"), True),
        (f"{starts('x')} || {starts('team/')}", True),
        (f"{starts('x')} && {starts('team/')}", False),
        (f'!{starts("x")} && ({starts("y")} || resource.name.endsWith(".json"))', True),
        ('resource.type == "storage.googleapis.com/Object" && resource.service != "x"', True),
        (f"resource.name == '{NAME}'", True),
        ('resource.name.startsWith("a\\"b")', False),
        ('request.time < timestamp("2030-01-01T00:00:00Z")', None),
        (f"{starts('x')} && request.time > now", None),
        (f'{starts("team/")} || resource.name.contains("x")', None),
        ('resource.name.extract("/{x}/") == "a"', None),
        (starts("team/") + ")", None),
        ("resource.name", None),
        ("resource.name.startsWith(resource.name)", None),
        ("(" * 100 + starts("team/") + ")" * 100, None),
        ("!" * 10_000, None),
        ("(" * 1_000_000, None),
        ("\0", None),
    ],
)
def test_a_condition_holds_or_not_or_nobody_knows(expression: str, answer: bool | None) -> None:
    assert holds(expression, NAME) is answer


def row(role: str, *members: str, condition: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {"role": f"roles/storage.{role}", "members": list(members)}
    return found | ({"condition": {"title": "t", "expression": condition}} if condition else {})


def wrong(*rows: Any, settings: Any = CLOSED, homes: tuple[str, ...] = (*PREFIXES, *FILES)) -> dict[str, str]:
    """What is not well, beside a bastion that has every right."""
    access = read("b", {"bindings": [row("objectAdmin", BASTION), *rows]}, settings)
    found = checks([BucketPart(access, "team/", homes)])
    return {check.name.removesuffix(" in gs://b"): check.found for check in found if check.level is not HealthLevel.OK}


INBOX = starts("team/inbox/alice/")


def test_well_kept_rights_are_well() -> None:
    kept = row("objectCreator", "user:alice@x", condition=INBOX)
    reads = row("objectViewer", "group:all@x", "user:alice@x")
    claims = row("objectCreator", "serviceAccount:w@p", condition=starts("team/claims/"))
    assert wrong(kept, reads, claims) == {}


@pytest.mark.parametrize(
    ("rows", "name", "found"),
    [
        ([row("objectViewer", "allUsers")], "public access to gs://b", "allUsers have rights on it"),
        ([row("objectViewer", "allAuthenticatedUsers")], "public access to gs://b", "allAuthenticatedUsers have rights on it"),
        ([row("objectCreator", "user:eve@x")], "writers of the journal", f"{BASTION}, user:eve@x"),
        ([row("legacyBucketOwner", "projectEditor:p")], "writers of the journal", f"projectEditor:p, {BASTION}"),
        (
            [row("objectCreator", "user:eve@x", condition=starts("team/inbox/"))],
            "requests",
            "user:eve@x may send requests as any user",
        ),
        (
            [row("objectCreator", "user:al@x", condition=starts("team/inbox/al/")),
             row("objectCreator", "user:alice@x", condition=f'{INBOX} || {starts("team/inbox/al/")}')],
            "requests",
            "user:alice@x may send requests as al and alice",
        ),
        (
            [row("objectCreator", "user:alice@x", condition=INBOX),
             row("objectCreator", "user:a@x", condition=starts("team/inbox/alic"))],
            "requests",
            "user:a@x may send requests as alice and alice0",
        ),
        ([row("objectUser", "user:alice@x", condition=INBOX)], "requests", "user:alice@x may overwrite or remove them"),
        (
            [row("objectUser", "serviceAccount:w@p", condition=starts("team/claims/"))],
            "objects written once",
            "serviceAccount:w@p may overwrite or remove claims/",
        ),
        (
            [row("objectUser", "serviceAccount:w@p", condition=starts("team/attempts/"))],
            "objects of the bastion alone",
            "serviceAccount:w@p may write attempts/",
        ),
        (
            [row("objectUser", "serviceAccount:w@p", condition=starts("team/s"))],
            "objects of the bastion alone",
            "serviceAccount:w@p may write snapshots/",
        ),
        (
            [row("objectUser", "serviceAccount:w@p", condition=starts("team/status"))],
            "objects of the bastion alone",
            "serviceAccount:w@p may write status.json",
        ),
        (
            [{"role": "projects/p/roles/Own", "members": ["user:eve@x"], "condition": {"expression": starts("team/claims/")}}],
            "roles and conditions",
            "not understood, so taken to allow everything: projects/p/roles/Own",
        ),
        (
            [row("objectViewer", "user:a@x", condition="api.x()")],
            "roles and conditions",
            "not understood, so taken to allow everything: api.x()",
        ),
    ],
)  # fmt: skip
def test_a_right_too_many_is_found(rows: list[Any], name: str, found: str) -> None:
    assert wrong(*rows)[name] == found


def test_what_guards_a_bucket_has_to_be_on() -> None:
    assert set(wrong(settings={})) == {"public access to gs://b", "uniform access"}
    assert set(wrong(settings=None)) == {"public access to gs://b", "uniform access"}
    assert set(wrong(settings=CLOSED | {"uniformBucketLevelAccess": {"enabled": "yes"}})) == {"uniform access"}


def test_who_decides_is_known_of_the_bucket_that_holds_the_journal() -> None:
    """The bastion's own log lies in another bucket: there its account is nobody else."""
    private = BucketPart(read("b", {"bindings": [row("objectAdmin", BASTION)]}, CLOSED), "team/", (layout.JOURNAL,))
    other = BucketPart(
        read("c", {"bindings": [row("objectAdmin", BASTION)]}, CLOSED), "team/", (layout.BASTION_LOG, layout.LOGS)
    )
    assert [check.found for check in checks([private, other]) if check.level is not HealthLevel.OK] == []
    assert [check.level for check in checks([other])].count(HealthLevel.FAILED) == 2


@pytest.mark.parametrize(
    "policy", [None, [], "x", {}, {"bindings": None}, {"bindings": 7}, {"bindings": "abc"}, {"bindings": [7]}]
)
def test_an_answer_of_another_form_is_no_good_news(policy: Any) -> None:
    found = list(checks([BucketPart(read("b", policy, CLOSED), "team/", (*PREFIXES, *FILES))]))
    assert any(check.level is not HealthLevel.OK for check in found) or policy == []
    assert isinstance(read("b", policy, CLOSED), BucketRights)


def test_a_folder_is_for_people_who_trust_each_other() -> None:
    assert folder("file:///b", 0o40700, "ada", "ml").found == "only ada may write"
    assert folder("file:///b", 0o40770, "ada", "ml").level is HealthLevel.OK
    assert "ada and the group ml may write all of it" in folder("file:///b", 0o40770, "ada", "ml").found
    assert folder("file:///b", 0o40707, "ada", "ml").level is HealthLevel.FAILED
