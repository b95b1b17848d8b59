"""Resource Manager: projects, and who may do what in them; and in repositories, which are asked in the same words."""

from __future__ import annotations

from tests.google.fake.cloud import Answer, Call, answers
from tests.google.fake.iam import allowed, policy_of, set_policy

_P = "cloudresourcemanager.projects."
_R = "artifactregistry.projects.locations.repositories."


@answers(f"{_P}get")
def _get(call: Call) -> Answer:
    return {"name": "projects/1", "projectId": call.project, "displayName": call.project, "state": "ACTIVE"}


@answers(f"{_P}getIamPolicy", f"{_R}getIamPolicy")
def _policy(call: Call) -> Answer:
    return policy_of(call, call.text("resource"))


@answers(f"{_P}setIamPolicy", f"{_R}setIamPolicy")
def _set_policy(call: Call) -> Answer:
    return set_policy(call, call.text("resource"))


@answers(f"{_P}testIamPermissions", f"{_R}testIamPermissions")
def _test(call: Call) -> Answer:
    return allowed(call, call.text("resource"))
