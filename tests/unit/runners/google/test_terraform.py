"""The Terraform says what the bucket layout and the threat model say, or these fall."""

from __future__ import annotations

import re

import pytest

from bastion.launcher.access.bucket_rights import CREATE, DELETE, ROLES, BucketPart, checks
from bastion.launcher.access.health_checks import FILES, PREFIXES, HealthLevel
from bastion.model import layout
from bastion.model.interfaces import AttemptKey
from tests.support.terraform import FOLDER, NAMES, VARS, plan

KEY = AttemptKey("j-12345678", 0, 0)
BASTION, WORKER, ROOT = "serviceAccount:bastion-team@p", "serviceAccount:bastion-team-worker@p", "user:root@x"
MEMBERS = set(VARS["members"].values())
HOMES = (*PREFIXES, *FILES)

WRITERS = [
    (layout.request("alice", "r"), {"user:alice@x"}, set()),
    (layout.request("al", "r"), {"user:al@x"}, set()),
    (layout.request("stranger", "r"), set(), set()),
    (layout.request("alice2", "r"), set(), set()),
    ("inbox/alice", set(), set()),
    (layout.journal(7), set(), set()),
    (layout.snapshot(7), set(), set()),
    (layout.ended("j-1"), set(), set()),
    (layout.STATUS, set(), set()),
    (layout.SEAL, set(), set()),
    (layout.build("0" * 64), set(), set()),
    (layout.order(KEY), set(), set()),
    (layout.stop(KEY), set(), set()),
    (layout.peers(KEY), set(), set()),
    (layout.segment(layout.bastion_log(1), 0), set(), set()),
    (layout.CONFIG, {ROOT}, {ROOT}),
    (layout.QUOTA, {ROOT}, {ROOT}),
    (f"{layout.CONFIG}.bak", set(), set()),
    (layout.watch("j", 0), MEMBERS, MEMBERS),
    (layout.bundle("0" * 64, "tar.zst"), MEMBERS, MEMBERS),
    (layout.claim(KEY, 0), {WORKER}, set()),
    (layout.beat(KEY, 0), {WORKER}, {WORKER}),
    (layout.facts(KEY, 0), {WORKER}, {WORKER}),
    (layout.segment(layout.log(KEY, 0), 0), {WORKER}, set()),
    (f"{layout.outputs('j', 0)}/model", {WORKER}, {WORKER}),
]
"""Of each kind of object: who but the bastion may create it, and who may remove or overwrite it."""


@pytest.mark.parametrize("managed_folders", [False, True])
@pytest.mark.parametrize(("key", "creators", "removers"), WRITERS, ids=[row[0][:40] for row in WRITERS])
def test_each_object_is_written_by_whom_the_layout_says(
    key: str, creators: set[str], removers: set[str], managed_folders: bool
) -> None:
    access = plan(managed_folders=managed_folders).access(layout.home(key))
    assert access.may(CREATE, f"team/{key}") == creators | {BASTION}
    assert access.may(DELETE, f"team/{key}") == removers | {BASTION}


def test_nothing_is_granted_outside_of_the_bastions_own_part() -> None:
    for name in NAMES:
        for key in ("x", "other/inbox/alice/x.json", "team2/inbox/alice/x.json", "teaminbox/alice/x.json"):
            assert plan().access(name).may(CREATE, key) == {BASTION}, (name, key)


def test_every_prefix_of_the_layout_is_asked_about() -> None:
    asked = {key.partition("/")[0] for key, _, _ in WRITERS}
    assert {home.partition("/")[0] for home in HOMES} <= asked


@pytest.mark.parametrize("managed_folders", [False, True])
def test_a_doctor_finds_nothing_to_do(managed_folders: bool) -> None:
    made = plan(managed_folders=managed_folders)
    parts = [
        BucketPart(made.access(name), "team/", tuple(h for h in HOMES if layout.home(h) == name)) for name in NAMES
    ]
    found = list(checks(parts))
    assert [check for check in found if check.level is not HealthLevel.OK] == []
    assert len(found) > 12


def test_managed_folders_are_made_for_the_members_and_take_no_condition_of_the_bucket() -> None:
    """Each inbox has its right once: by a condition, or on a folder whose name ends with a slash."""
    for managed_folders in (False, True):
        rows = plan(managed_folders=managed_folders).access("private").grants
        creators = [grant for grant in rows if grant.role == "roles/storage.objectCreator" and MEMBERS & grant.members]
        assert len(creators) == len(MEMBERS)
    (folder,) = plan().of_kind("google_storage_managed_folder").values()
    assert plan().text(folder["name"], {"each.key": "alice"}) == "team/inbox/alice/"
    inbox = plan().resources["google_storage_bucket_iam_member", "inbox"]["for_each"]
    assert [len(plan(managed_folders=chosen).each(inbox)) for chosen in (False, True)] == [len(MEMBERS), 0]


def test_our_own_roles_are_those_that_a_doctor_knows() -> None:
    for body in plan().of_kind("google_project_iam_custom_role").values():
        role = plan().text(body["role_id"])
        assert ROLES[role] == {CREATE, DELETE} & {plan().text(right) for right in body["permissions"]}


def test_every_bucket_is_closed_and_what_matters_can_be_brought_back() -> None:
    buckets = plan().of_kind("google_storage_bucket")
    assert set(buckets) == set(NAMES)
    for name, body in buckets.items():
        assert int(body["soft_delete_policy"][0]["retention_duration_seconds"]) >= 7 * 86_400, name
    assert buckets["private"]["versioning"][0]["enabled"] is True
    for name in ("private", "permanent"):
        assert buckets[name]["lifecycle"][0]["prevent_destroy"] is True
    spared = {layout.JOURNAL, layout.CLAIMS, layout.SNAPSHOTS, layout.ATTEMPTS, layout.BUILDS}
    for body in buckets.values():
        for rule in body.get("lifecycle_rule", []):
            below = [plan().text(prefix) for prefix in rule["condition"][0]["matches_prefix"]]
            assert below
            assert not [home for home in spared if any(f"team/{home}".startswith(prefix) for prefix in below)]


def test_the_files_are_formatted() -> None:
    """Of what `terraform fmt` does: blanks, indentation by depth, and `=` one below the other."""
    paths = sorted(FOLDER.glob("*.tf"))
    assert len(paths) >= 5
    for path in paths:
        text, depth = path.read_text(), 0
        assert text.endswith("\n")
        assert not text.endswith("\n\n")
        block: list[int] = []
        for number, line in enumerate(text.splitlines(), 1):
            where = f"{path.name}:{number}"
            assert line == line.rstrip(), where
            assert "\t" not in line, where
            bare = re.sub(r'"(?:[^"\\]|\\.)*"|#.*', "", line)
            closing = bare.strip().startswith(("}", "]", ")"))
            if line:
                assert len(line) - len(line.lstrip()) == 2 * (depth - closing), where
            depth += sum(map(bare.count, "{[(")) - sum(map(bare.count, "}])"))
            equals = bare.find(" = ") if not bare.rstrip().endswith(("{", "[", "(")) else -1
            block = [*block, line.find(" = ")] if equals >= 0 else []
            assert len(set(block)) <= 1, f"{where}: align the equals signs"
        assert depth == 0
