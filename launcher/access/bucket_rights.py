"""The rights of each account in a bucket, by the policy of its store, and what is wrong with them. Pure.

The rules are those of `docs/security.md`: only the bastion writes what decides, each user sends requests under one
name, what is written once is never overwritten, and nothing is public.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bastion.model import layout

from .health_checks import NAMED, Check, HealthLevel
from .iam_conditions import holds

CREATE, DELETE = "storage.objects.create", "storage.objects.delete"
"""The two rights that matter. Overwriting an object takes both."""

_ALL = frozenset({CREATE, DELETE})
ROLES: Mapping[str, frozenset[str]] = {
    "roles/storage.objectViewer": frozenset(),
    "roles/storage.objectCreator": frozenset({CREATE}),
    "roles/storage.objectUser": _ALL,
    "roles/storage.objectAdmin": _ALL,
    "roles/storage.admin": _ALL,
    "roles/storage.bucketViewer": frozenset(),
    "roles/storage.legacyBucketReader": frozenset(),
    "roles/storage.legacyBucketWriter": _ALL,
    "roles/storage.legacyBucketOwner": _ALL,
    "roles/storage.legacyObjectReader": frozenset(),
    "roles/storage.legacyObjectOwner": frozenset(),
    "roles/iam.securityReviewer": frozenset(),
    "bastionAuditor": frozenset(),
    "bastionLister": frozenset(),
}
"""The rights of each role, of these two. The last two roles are those of `deploy/terraform`, in any project."""

PUBLIC = frozenset({"allUsers", "allAuthenticatedUsers"})
SEE = "see docs/security.md and deploy/terraform"
_GROUP, _OTHERS = 0o020, 0o002
_NOBODY = "nobody-of-this-name"
_INBOX = re.compile(r"/inbox/([^/\"'\\]+)/")
_DECIDES = (
    *(layout.JOURNAL, layout.SNAPSHOTS, layout.ENDED, layout.ATTEMPTS),
    *(layout.BUILDS, layout.STATUS, layout.BASTION_LOG),
)
_ONCE = (layout.CLAIMS, layout.LOGS)


@dataclass(frozen=True, slots=True)
class BucketGrant:
    """A role that a policy grants to members, if a condition holds.

    role: name of the role.
    members: accounts and groups that have it.
    condition: condition in CEL; empty: always; `?`: not readable.
    """

    role: str
    members: frozenset[str]
    condition: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketRights:
    """The rights on a bucket.

    bucket: name of the bucket.
    grants: roles that its policy grants.
    uniform: no object can have rights of its own.
    guarded: the bucket cannot be made public.
    """

    bucket: str
    grants: tuple[BucketGrant, ...]
    uniform: bool
    guarded: bool

    def may(self, right: str, key: str) -> set[str]:
        """Return the members that may do this with the object of this key.

        A condition that is not understood counts as true.
        """
        name = f"projects/_/buckets/{self.bucket}/objects/{key}"
        return {
            member
            for grant in self.grants
            if right in _rights(grant.role) and holds(grant.condition, name) is not False
            for member in grant.members
        }


def read(bucket: str, policy: Any, settings: Any) -> BucketRights:
    """Parse the rights from two answers of the store.

    A binding of an unexpected form becomes a grant of the unknown role `?` to `?`, which counts as allowing everything.
    """
    bindings = policy.get("bindings") if isinstance(policy, Mapping) else None
    rows = bindings if isinstance(bindings, Sequence) and not isinstance(bindings, str) else [bindings]
    access = settings if isinstance(settings, Mapping) else {}
    uniform = access.get("uniformBucketLevelAccess")
    return BucketRights(
        bucket=bucket,
        grants=tuple(_grant(row) for row in rows),
        uniform=isinstance(uniform, Mapping) and uniform.get("enabled") is True,
        guarded=access.get("publicAccessPrevention") == "enforced",
    )


def _grant(row: Any) -> BucketGrant:
    if not isinstance(row, Mapping):
        return BucketGrant("?", frozenset({"?"}))
    members, condition = row.get("members"), row.get("condition")
    told = members if isinstance(members, (Sequence, frozenset, set)) and not isinstance(members, str) else ["?"]
    said = condition.get("expression") if isinstance(condition, Mapping) else condition
    text = "" if condition is None else said if isinstance(said, str) and said.strip() else "?"
    return BucketGrant(str(row.get("role", "?")), frozenset(map(str, told)), text)


def _rights(role: str) -> frozenset[str]:
    return ROLES.get(role, ROLES.get(role.rpartition("/")[2], _ALL))


@dataclass(frozen=True, slots=True)
class BucketPart:
    """A bucket with a part of a bastion's objects.

    access: rights on the bucket.
    below: prefix of all keys of the bastion in the bucket.
    homes: prefixes and files of the bastion that lie in this bucket.
    """

    access: BucketRights
    below: str
    homes: tuple[str, ...]

    @property
    def url(self) -> str:
        """The URL of the whole bucket."""
        return f"gs://{self.access.bucket}"

    def deciders(self) -> set[str]:
        """Return the members that may write the journal, and so act as the bastion.

        Empty if the journal lies in another bucket.
        """
        return self.access.may(CREATE, self.below + layout.journal(0)) if layout.JOURNAL in self.homes else set()


def checks(parts: Sequence[BucketPart]) -> Iterator[Check]:
    """Check every rule in all buckets of a bastion whose rights are known."""
    bastions = {member for part in parts for member in part.deciders()}
    for part in parts:
        yield _public(part)
        yield _uniform(part)
        if layout.JOURNAL in part.homes:
            yield _deciders(part)
        yield _only_the_bastion(part, bastions)
        yield _once(part, bastions)
        if layout.INBOX in part.homes:
            yield _own_inbox(part, bastions)
            yield _files(part, bastions)
        yield _not_known(part)


def _public(part: BucketPart) -> Check:
    name = f"public access to {part.url}"
    strangers = sorted({member for grant in part.access.grants for member in grant.members} & PUBLIC)
    if strangers:
        return Check(
            HealthLevel.FAILED, name, f"{', '.join(strangers)} have rights on it", f"remove these rights; {SEE}"
        )
    if not part.access.guarded:
        return Check(
            HealthLevel.WARNING,
            name,
            "there is none, but it could be granted",
            "enforce public access prevention",
        )
    return Check(HealthLevel.OK, name, "prevented")


def _uniform(part: BucketPart) -> Check:
    name = f"uniform access in {part.url}"
    if part.access.uniform:
        return Check(HealthLevel.OK, name, "on: only the bucket has rights")
    found = "single objects may have rights of their own, which this check cannot see"
    return Check(HealthLevel.FAILED, name, found, "turn uniform bucket-level access on")


def _deciders(part: BucketPart) -> Check:
    name, bastions = f"writers of the journal in {part.url}", part.deciders()
    if len(bastions) == 1 and not bastions & PUBLIC:
        return Check(HealthLevel.OK, name, *bastions)
    if not bastions:
        return Check(
            HealthLevel.WARNING, name, "none by this bucket's own policy", f"let the bastion's account write; {SEE}"
        )
    return Check(HealthLevel.WARNING, name, _some(bastions), f"let only the bastion's account write; {SEE}")


def _only_the_bastion(part: BucketPart, bastions: set[str]) -> Check:
    return _nobody_else(part, _ALL, _DECIDES, bastions, f"objects of the bastion alone in {part.url}", "may write")


def _once(part: BucketPart, bastions: set[str]) -> Check:
    name, verb = f"objects written once in {part.url}", "may overwrite or remove"
    return _nobody_else(part, frozenset({DELETE}), _ONCE, bastions, name, verb)


def _nobody_else(
    part: BucketPart, rights: Iterable[str], homes: Sequence[str], bastions: set[str], name: str, verb: str
) -> Check:
    """Check that only the bastion has one of these rights on those of these prefixes that lie in this bucket."""
    here = [home for home in homes if home in part.homes]
    for home in here:
        key = part.below + home + ("x" if home.endswith("/") else "")
        if others := {member for right in rights for member in part.access.may(right, key)} - bastions:
            return Check(HealthLevel.FAILED, name, f"{_some(others)} {verb} {home}", f"remove this right; {SEE}")
    return Check(HealthLevel.OK, name, ", ".join(here) or "none in this bucket")


def _own_inbox(part: BucketPart, bastions: set[str]) -> Check:
    """Check that each account but the bastion's sends requests under one name only, and cannot change sent requests."""
    name, access = f"requests in {part.url}", part.access
    users = sorted({user for grant in access.grants for user in _INBOX.findall(grant.condition)})
    asking: dict[str, list[str]] = {}
    removing: set[str] = set()
    # `alice0` finds a condition that lacks the slash after `alice`; `_NOBODY` finds one that allows every inbox.
    for user in [*users, *(f"{user}0" for user in users if f"{user}0" not in users), _NOBODY]:
        key = part.below + layout.request(user, "x")
        removing |= access.may(DELETE, key) - bastions
        for member in access.may(CREATE, key) - bastions:
            asking.setdefault(member, []).append(user)
    loose = {member: names for member, names in asking.items() if len(names) > 1 or names == [_NOBODY]}
    if loose:
        member, names = sorted(loose.items())[0]
        whose = "any user" if _NOBODY in names else " and ".join(names[:NAMED])
        more = f" (and {len(loose) - 1} more)" if len(loose) > 1 else ""
        return Check(
            HealthLevel.FAILED,
            name,
            f"{member} may send requests as {whose}{more}",
            f"confine it to one inbox/<user>/; {SEE}",
        )
    if removing:
        return Check(
            HealthLevel.FAILED, name, f"{_some(removing)} may overwrite or remove them", f"let them only create; {SEE}"
        )
    return Check(HealthLevel.OK, name, f"{len(asking)} accounts may send requests, each as one user")


def _files(part: BucketPart, bastions: set[str]) -> Check:
    """Check which accounts act as admins: to change the settings is to name the admins."""
    keys = [part.below + file for file in (layout.CONFIG, layout.QUOTA)]
    changing = {member for key in keys for right in _ALL for member in part.access.may(right, key)} - bastions
    name = f"writers of quota and settings in {part.url}"
    if changing & PUBLIC:
        return Check(HealthLevel.FAILED, name, _some(changing & PUBLIC), f"remove this right; {SEE}")
    return Check(HealthLevel.OK, name, _some(changing) or "only the bastion")


def _not_known(part: BucketPart) -> Check:
    name, access = f"roles and conditions in {part.url}", part.access
    roles = {
        grant.role for grant in access.grants if grant.role not in ROLES and grant.role.rpartition("/")[2] not in ROLES
    }
    odd = {grant.condition for grant in access.grants if holds(grant.condition, "x") is None}
    if roles or odd:
        found = f"not understood, so taken to allow everything: {_some(roles | odd)}"
        return Check(HealthLevel.WARNING, name, found, "check them by hand, or use roles that this check knows")
    return Check(HealthLevel.OK, name, f"{len(access.grants)} grants, all understood")


def _some(names: Iterable[str]) -> str:
    found = sorted(name[:200] for name in names)
    return ", ".join(found[:NAMED]) + (f" and {len(found) - NAMED} more" if len(found) > NAMED else "")


def folder(url: str, mode: int, owner: str, group: str) -> Check:
    """Check the write rights on a folder that serves as a bucket.

    A folder has no separate inboxes of users, so each account that may write it is trusted with all of it.
    """
    name = f"rights on {url}"
    if mode & _OTHERS:
        return Check(
            HealthLevel.FAILED,
            name,
            "everybody on this machine may write all of it",
            "remove this right: chmod -R o-w FOLDER",
        )
    if mode & _GROUP:
        return Check(
            HealthLevel.OK, name, f"{owner} and the group {group} may write all of it: they have to trust each other"
        )
    return Check(HealthLevel.OK, name, f"only {owner} may write")
