"""People who edit a quota are told what changes, and what is legal and yet odd."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

from bastion.quota.quota import Quota
from bastion.quota.quota_changes import diff, warnings

OLD = Quota(
    tiers=({"v4": 32},),
    shares={"nlp": {"v4": Fraction("0.5")}, "old": {"v4": Fraction("0.1")}},
    members={"nlp": ("ann", "bob"), "old": ("cy",)},
)
NEW = Quota(
    tiers=({"v4": 32, "cpu": 8},),
    shares={"nlp": {"v4": Fraction("0.6")}, "vision": {"v4": Fraction("0.25")}},
    members={"nlp": ("ann", "dan"), "visoin": ("eve",)},
)


def test_each_change_is_one_line_with_names_and_numbers() -> None:
    assert diff(OLD, NEW) == (
        "total cpu: 0 -> 8",
        "nlp: v4 share 0.5 -> 0.6 (16 -> 19 of 32)",
        "old: v4 share 0.1 -> 0 (3 -> 0 of 32)",
        "vision: v4 share 0 -> 0.25 (0 -> 8 of 32)",
        "nlp: members added: dan",
        "nlp: members removed: bob",
        "old: members removed: cy",
        "visoin: members added: eve",
    )


def test_nothing_changed_is_no_line_and_the_first_quota_is_all_new() -> None:
    assert diff(OLD, OLD) == ()
    assert diff(None, OLD)[0] == "total v4: 0 -> 32"
    assert "nlp: members added: ann, bob" in diff(None, OLD)


def test_tiers_are_told_apart_when_there_are_several() -> None:
    two = Quota(tiers=({"v4": 16}, {"v4": 16}))
    assert diff(Quota(tiers=({"v4": 32},)), two) == (
        "total v4 of tier 0: 32 -> 16",
        "total v4 of tier 1: 0 -> 16",
    )


def test_odd_but_legal_things_are_warnings() -> None:
    assert warnings(NEW) == (
        "cpu: no project has a share of it, so every project may use all of it",
        "vision: has shares but no members (did you mean visoin?)",
        "visoin: has members but no shares: it can only borrow",
    )
    assert warnings(OLD) == ()


def test_classes_and_user_limits_are_told_by_project_and_kind() -> None:
    new = dataclasses.replace(
        OLD, classes={"nlp": ("urgent",)}, user_limits={"nlp": {"v4": 8}, "old": {"v4": 4}, "none": {}}
    )
    newer = dataclasses.replace(new, classes={}, user_limits={"nlp": {"v4": 16}})
    assert diff(OLD, new) == (
        "nlp: classes added: urgent",
        "nlp: user limit of v4: none -> 8",
        "old: user limit of v4: none -> 4",
    )
    assert diff(new, newer) == (
        "nlp: classes removed: urgent",
        "nlp: user limit of v4: 8 -> 16",
        "old: user limit of v4: 4 -> none",
    )
    assert warnings(new) == ()


def test_odd_classes_and_user_limits_are_warnings() -> None:
    odd = dataclasses.replace(
        OLD,
        classes={"odl": ("urgent",), "nlp": ("standard", "urgent")},
        user_limits={"nlp": {"v4": 32}, "old": {"v4": 0}, "npl": {"v4": 1}},
    )
    assert warnings(odd) == (
        "odl: has classes but neither members nor shares (did you mean old?)",
        "npl: has user limits but neither members nor shares (did you mean nlp?)",
        "nlp: the class standard needs no grant: every project may use it",
        "nlp: a user limit of 32 v4 has no effect: the total is 32",
        "old: no user may hold any v4, so no job that asks for it starts",
    )


def test_admins_of_projects_are_told_like_members() -> None:
    new = Quota(
        tiers=OLD.tiers, shares=OLD.shares, members=OLD.members, admins={"nlp": ("eve",), "odl": ("cy",), "x": ()}
    )
    assert diff(OLD, new) == ("nlp: admins added: eve", "odl: admins added: cy")
    assert diff(new, OLD) == ("nlp: admins removed: eve", "odl: admins removed: cy")
    assert warnings(new) == ("odl: has admins but neither members nor shares (did you mean old?)",)
