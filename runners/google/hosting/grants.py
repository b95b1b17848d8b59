"""The rights of the bastion's accounts: granted at its creation, taken back with the accounts at its deletion."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..api.interface import Answer, Google, GoogleError, ResourceNotFound
from . import rights
from .bastion_vm import BastionVm, workers
from .rights import RoleGrant

_CHANGED = 5
"""The most times that a policy is written, if somebody else changes it in between."""

Mend = Callable[[Sequence[Answer]], Sequence[Answer]]
"""The function from the bindings of a policy to the wanted ones."""


@dataclass(frozen=True, slots=True)
class IamPolicy:
    """A policy, which says who may do what with one thing. It has to be as `mend` returns it; rights of others stay.

    what: the policy in words.
    read: the method that reads it, and its parameters.
    write: the method that writes it, and its parameters.
    mend: returns the wanted bindings from the present ones.
    """

    what: str
    read: tuple[str, Mapping[str, Any]]
    write: tuple[str, Mapping[str, Any]]
    mend: Mend

    def ensure(self, google: Google) -> bool:
        """Make the policy so. Return True if it was not. Raises `GoogleError`."""
        for left in reversed(range(_CHANGED)):
            policy = self._policy(google)
            before = policy.get("bindings", [])
            bindings = self.mend(before)
            if bindings == before:
                return False
            after = {**policy, "version": 3, "bindings": bindings}
            bare = self.write[0].startswith("storage.")  # storage takes the policy itself as the body
            try:
                google.call(self.write[0], **self.write[1], body=after if bare else {"policy": after})
                return True
            except GoogleError:
                if not left or self._policy(google).get("etag") == policy.get("etag"):
                    raise
        return False

    def _policy(self, google: Google) -> Answer:
        try:
            return google.call(self.read[0], **self.read[1])
        except ResourceNotFound:  # in a dry run it is not made yet; or it is gone
            return {}


@dataclass(frozen=True, slots=True)
class AbsentResource:
    """A thing that must not exist.

    what: the thing in words.
    remove: the method that removes it, and its parameters.
    """

    what: str
    remove: tuple[str, Mapping[str, Any]]

    def ensure(self, google: Google) -> bool:
        """Remove the thing. Return True if it existed. Raises `GoogleError`."""
        try:
            google.call(self.remove[0], **self.remove[1])
        except ResourceNotFound:
            return False
        return True


def leave(host: BastionVm) -> Iterator[IamPolicy | AbsentResource]:
    """Yield the steps that remove the accounts made for this bastion, and before them all their rights.

    Its roles stay: they allow nothing by themselves, and Google blocks the name of a deleted role for 37 days.
    """
    ours = [host.account]
    if host.workers == workers(host.bastion, host.project):
        ours.append(host.workers)
    members = {f"serviceAccount:{address}" for address in ours}
    for on, name in _by_thing(host):
        if name not in ours:
            yield _on(host, on, name, lambda bindings: [*_without(bindings, members)])
    for address in ours:
        path = f"projects/{host.project}/serviceAccounts/{address}"
        yield AbsentResource(f"the account {address}", ("iam.projects.serviceAccounts.delete", {"name": path}))


def granted(host: BastionVm) -> Iterator[IamPolicy]:
    """Yield the steps that grant the accounts their rights, one step for each thing that the rights are on."""
    for (on, name), wanted in _by_thing(host).items():
        yield _on(host, on, name, partial(_with, wanted))


def _by_thing(host: BastionVm) -> dict[tuple[str, str], list[RoleGrant]]:
    found: dict[tuple[str, str], list[RoleGrant]] = {}
    for grant in rights.grants(host):
        found.setdefault((grant.on, grant.name), []).append(grant)
    return found


def _on(host: BastionVm, on: str, name: str, mend: Mend) -> IamPolicy:
    newest = {"options": {"requestedPolicyVersion": 3}}
    if on == "bucket":
        read = ("storage.buckets.getIamPolicy", {"bucket": name, "optionsRequestedPolicyVersion": 3})
        return IamPolicy(f"rights on gs://{name}", read, ("storage.buckets.setIamPolicy", {"bucket": name}), mend)
    if on == "account":
        resource = f"projects/{host.project}/serviceAccounts/{name}"
        version = {"options_requestedPolicyVersion": 3}
        read = ("iam.projects.serviceAccounts.getIamPolicy", {"resource": resource, **version})
        write = ("iam.projects.serviceAccounts.setIamPolicy", {"resource": resource})
        return IamPolicy(f"rights on {name}", read, write, mend)
    resource = f"projects/{host.project}"
    read = ("cloudresourcemanager.projects.getIamPolicy", {"resource": resource, "body": newest})
    write = ("cloudresourcemanager.projects.setIamPolicy", {"resource": resource})
    return IamPolicy(f"rights in {host.project}", read, write, mend)


def _with(wanted: Sequence[RoleGrant], bindings: Sequence[Answer]) -> list[Answer]:
    """Return the bindings, and those that are wanted and missing."""
    return [*bindings, *(_binding(grant) for grant in wanted if not _has(bindings, grant))]


def _without(bindings: Sequence[Answer], members: set[str]) -> Iterator[Answer]:
    """Yield the bindings without these members.

    The members have to go before their accounts do: Google renames the member of a deleted account.
    """
    for binding in bindings:
        left = [one for one in binding.get("members", []) if one not in members]
        if left:
            yield {**binding, "members": left}


def _binding(grant: RoleGrant) -> Answer:
    binding: Answer = {"role": grant.role, "members": [grant.member]}
    if grant.only:
        binding["condition"] = {"title": grant.title, "expression": grant.expression}
    return binding


def _has(bindings: Sequence[Answer], grant: RoleGrant) -> bool:
    return any(
        one.get("role") == grant.role
        and grant.member in one.get("members", [])
        and one.get("condition", {}).get("expression", "") == grant.expression
        for one in bindings
    )
