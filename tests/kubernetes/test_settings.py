"""The table of options: what is wrong is told by its key. Overrides are merged as Kubernetes would."""

from __future__ import annotations

from typing import Any

import pytest

from bastion.runners.kubernetes.settings import faults
from bastion.runners.kubernetes.strategic_merge import merged


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "image is missing"),
        ({"image": 3}, "image: Expected"),
        ({"image": "a b"}, "image is 'a b'"),
        ({"image": "i", "odd": 1}, "its keys are namespace"),
        ({"image": "i", "namespace": "Big"}, "namespace is 'Big'"),
        ({"image": "i", "namespace": ""}, "namespace is empty"),
        ({"image": "i", "tiers": []}, "tiers is []"),
        ({"image": "i", "tiers": ["cheap"]}, "tiers is ['cheap']"),
        ({"image": "i", "grace_s": 1}, "grace_s is 1"),
        ({"image": "i", "security": "none"}, "security is 'none'; use restricted or off"),
        ({"image": "i", "user": -1}, "user is -1"),
        ({"image": "i", "credentials": "c"}, "belong together"),
        ({"image": "i", "reservations": {"h100": "a/b"}}, "reservations.h100"),
        ({"image": "i", "kinds": {"x": {"resource": "a b"}}}, "kinds.x.resource"),
        ({"image": "i", "kinds": {"x": {"per_node": -1}}}, "kinds.x.per_node"),
        ({"image": "i", "kinds": {"x": {"topology": "!"}}}, "kinds.x.topology"),
        ({"image": "i", "kinds": {"x": {"node_selector": {"a": "!"}}}}, "kinds.x.node_selector"),
        ({"image": "i", "pod": {"spce": {}}}, "pod has spce"),
        ({"image": "i", "pod": {"spec": {"containers": ["x"]}}}, "pod.spec.containers has a member without name"),
        ({"image": "i", "pod": {"spec": {"volumes": "x"}}}, "pod.spec.volumes has a member without name"),
    ],
)
def test_what_is_wrong_is_told(options: dict[str, Any], said: str) -> None:
    (told,) = faults(options)
    assert said in told


def test_what_is_right_is_not() -> None:
    assert faults({"image": "i", "pod": {"spec": {"containers": [{"name": "worker", "tty": True}]}}}) == []


BASE = {
    "a": 1,
    "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
    "tolerations": [1],
    "deep": {"x": 1, "y": 2},
}


@pytest.mark.parametrize(
    ("patch", "changed"),
    [
        ({}, {}),
        ({"a": 2}, {"a": 2}),
        ({"deep": {"x": 3}}, {"deep": {"x": 3, "y": 2}}),
        ({"deep": {"$patch": "replace", "z": 1}}, {"deep": {"z": 1}}),
        ({"tolerations": [2]}, {"tolerations": [2]}),
        (
            {"env": [{"name": "B", "value": "3"}, {"name": "C", "value": "4"}]},
            {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "3"}, {"name": "C", "value": "4"}]},
        ),
        ({"env": [{"name": "A", "$patch": "delete"}]}, {"env": [{"name": "B", "value": "2"}]}),
    ],
)
def test_an_override_is_merged_by_strategic_rules(patch: dict[str, Any], changed: dict[str, Any]) -> None:
    assert merged(BASE, patch) == BASE | changed


def test_an_override_can_delete_a_table() -> None:
    assert merged(BASE, {"deep": {"$patch": "delete"}}) == {key: BASE[key] for key in BASE if key != "deep"}
