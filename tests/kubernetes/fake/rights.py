"""Who may do what in a fake cluster: Roles and their bindings, as the API server enforces them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tests.kubernetes.fake.store import Row, Store

Right = tuple[str, str, str]
"""A verb, a group of APIs, a resource."""


@dataclass
class Rights:
    """The Roles that a store holds. `used`: by user, what each has made use of, and what each has given to others."""

    store: Store
    users: dict[str, str] = field(default_factory=dict)
    """By their tokens."""
    used: dict[str, set[Right]] = field(default_factory=dict)

    def held(self, user: str, namespace: str) -> set[Right]:
        """All that a user may."""
        return {
            right
            for binding in self.store.of("RoleBinding", namespace)
            if user in map(_user, binding["subjects"])
            for right in self._of_role(namespace, binding["roleRef"]["name"])
        }

    def permits(self, user: str, right: Right, namespace: str) -> bool:
        if right not in self.held(user, namespace):
            return False
        self.used.setdefault(user, set()).add(right)
        return True

    def lacks(self, user: str, body: Row, namespace: str) -> set[Right]:
        """What a user cannot give by this Role or binding, who has not got it."""
        given = set(rights(body["rules"])) if body["kind"] == "Role" else set()
        if body["kind"] == "RoleBinding":
            given = set(self._of_role(namespace, body["roleRef"]["name"]))
        self.used.setdefault(user, set()).update(given)
        return given - self.held(user, namespace)

    def _of_role(self, namespace: str, name: str) -> Iterator[Right]:
        row = self.store.rows.get(("Role", namespace, name))
        return rights(row["rules"] if row else [])


def rights(rules: Iterable[Row]) -> Iterator[Right]:
    """What rules allow, one by one."""
    for rule in rules:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                yield from ((verb, group, resource) for verb in rule["verbs"])


def _user(subject: Row) -> str:
    if subject["kind"] == "User":
        return str(subject["name"])
    return f"system:serviceaccount:{subject['namespace']}:{subject['name']}"
