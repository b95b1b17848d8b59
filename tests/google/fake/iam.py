"""IAM: service accounts, roles of a project, and who may use an account."""

from __future__ import annotations

import re

from tests.google.fake import rights
from tests.google.fake.cloud import Answer, Call, answers, fingerprint, page
from tests.google.fake.refusals import Refusal
from tests.google.fake.rows import Row

_A, _R = "iam.projects.serviceAccounts.", "iam.projects.roles."
_ID = re.compile(r"[a-z]([-a-z0-9]{4,28}[a-z0-9])")


@answers(f"{_A}create")
def _create(call: Call) -> Answer:
    short = call.body.get("accountId", "")
    if not _ID.fullmatch(short):
        raise Refusal(400, f"Invalid service account ID {short!r}: it must match {_ID.pattern}")
    email = f"{short}@{call.project}.iam.gserviceaccount.com"
    name = f"{call.text('name')}/serviceAccounts/{email}"
    if call.cloud.rows.get(name):
        raise Refusal(409, f"Service account {short} already exists within project {call.text('name')}.")
    row = call.body.get("serviceAccount", {}) | {
        "name": name,
        "email": email,
        "projectId": call.project,
        "uniqueId": call.cloud.new_id(),
        "etag": fingerprint(name),
    }
    call.cloud.rows.put(name, row)
    return row


def _account(call: Call, name: str = "") -> Row:
    name = name or call.text("name") or call.text("resource")
    found = call.cloud.rows.get(name.replace("projects/-/", f"projects/{_owner(name)}/"))
    if found is None:
        raise Refusal(404, f"Unknown service account: {name.rpartition('/')[2]}")
    return found


def _owner(name: str) -> str:
    return name.partition("@")[2].partition(".")[0]


@answers(f"{_A}get")
def _get(call: Call) -> Answer:
    return _account(call)


@answers(f"{_A}delete")
def _delete(call: Call) -> Answer:
    name = _account(call)["name"]
    call.cloud.policies.pop(name, None)
    call.cloud.rows.put(name, None)
    return {}


@answers(f"{_A}list")
def _list(call: Call) -> Answer:
    return page(call, [row for _, row in call.cloud.rows.within(f"{call.text('name')}/serviceAccounts")], "accounts")


@answers(f"{_A}getIamPolicy")
def _get_policy(call: Call) -> Answer:
    return policy_of(call, _account(call)["name"])


@answers(f"{_A}setIamPolicy")
def _set_policy(call: Call) -> Answer:
    return set_policy(call, _account(call)["name"])


@answers(f"{_A}testIamPermissions")
def _test(call: Call) -> Answer:
    return allowed(call, _account(call)["name"])


def policy_of(call: Call, name: str) -> Answer:
    """Who may do what with a resource."""
    row = call.cloud.policies.get(name, {"version": 1})
    return row | {"etag": fingerprint(row)}


def set_policy(call: Call, name: str) -> Answer:
    """Say it anew. Raises `Refusal` if it was changed since it was read, or names accounts that are not there."""
    wish = dict(call.body.get("policy", {}))
    if (etag := wish.pop("etag", "")) and etag != policy_of(call, name)["etag"]:
        text = (
            "There were concurrent policy changes. Please retry the whole read-modify-write with exponential backoff."
        )
        raise Refusal(409, text, status="ABORTED", reason="aborted")
    for binding in wish.get("bindings", ()):
        _check_binding(call, binding)
    call.cloud.policies[name] = wish
    return policy_of(call, name)


def _check_binding(call: Call, binding: Row) -> None:
    role = binding.get("role", "")
    if role not in rights.ROLES and not call.cloud.rows.get(role) and not role.startswith("roles/"):
        raise Refusal(400, f"Role {role} is not supported for this resource.")
    for member in binding.get("members", ()):
        kind, _, email = member.partition(":")
        if not email and member not in ("allUsers", "allAuthenticatedUsers"):
            raise Refusal(400, f"Invalid member {member!r}: it must be of the form user:EMAIL or serviceAccount:EMAIL.")
        ours = email.endswith(".iam.gserviceaccount.com")
        if (
            kind == "serviceAccount"
            and ours
            and not call.cloud.rows.get(f"projects/{_owner(email)}/serviceAccounts/{email}")
        ):
            raise Refusal(400, f"Service account {email} does not exist.")


def allowed(call: Call, name: str) -> Answer:
    """Which of the permissions asked for the caller has."""
    asked = call.body.get("permissions", [])
    found = [one for one in asked if rights.has(call.cloud, call.account, name.split("/")[1], one, name)]
    return {"permissions": found} if found else {}


@answers(f"{_R}create")
def _create_role(call: Call) -> Answer:
    name = f"{call.text('parent')}/roles/{call.body.get('roleId', '')}"
    if not re.fullmatch(r"[a-zA-Z0-9_.]{3,64}", call.body.get("roleId", "")):
        raise Refusal(400, f"The role ID {call.body.get('roleId')!r} is not valid.")
    if call.cloud.rows.get(name):
        raise Refusal(409, f"A role named {call.body['roleId']} in {call.text('parent')} already exists.")
    row = call.body.get("role", {}) | {"name": name, "etag": fingerprint(call.body)}
    call.cloud.rows.put(name, row)
    return row


def _role(call: Call) -> Row:
    found = call.cloud.rows.get(call.text("name"))
    if found is None:
        raise Refusal(404, f"The role named {call.text('name')} was not found.")
    return found


@answers(f"{_R}get")
def _get_role(call: Call) -> Answer:
    return _role(call)


@answers(f"{_R}patch")
def _patch_role(call: Call) -> Answer:
    fields = {key: value for key, value in call.body.items() if key not in ("name", "etag")}
    return call.cloud.rows.change(_role(call)["name"], **fields, etag=fingerprint(fields)) or {}


@answers(f"{_R}delete")
def _delete_role(call: Call) -> Answer:
    """It is only marked: its id stays taken, and it can be had back."""
    return call.cloud.rows.change(_role(call)["name"], deleted=True) or {}


@answers(f"{_R}undelete")
def _undelete_role(call: Call) -> Answer:
    return call.cloud.rows.change(_role(call)["name"], deleted=None) or {}


@answers(f"{_R}list")
def _roles(call: Call) -> Answer:
    rows = [row for _, row in call.cloud.rows.within(f"{call.text('parent')}/roles")]
    return page(call, [row for row in rows if not row.get("deleted") or call.parameters.get("showDeleted")], "roles")
