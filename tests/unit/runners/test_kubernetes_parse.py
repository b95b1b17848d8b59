"""What a cluster lists, as the runner takes it: a set in deletion, or one that has ended, has no machine to come."""

from __future__ import annotations

from typing import Any

import pytest

from bastion.model.interfaces import AttemptKey
from bastion.runners.kubernetes import names, parse

MARK = names.KubernetesLabels(scope="scope", key=AttemptKey("j-1", 0, 0), epoch=3, nonce="a" * 32, hosts=1, workers=2)


def listed(**more: Any) -> dict[str, Any]:
    metadata = {"name": "train", "uid": "u", "labels": names.labels(MARK), "annotations": names.notes(MARK)}
    return {"metadata": metadata | more.pop("metadata", {}), "spec": {}, "status": more}


def test_a_set_without_pods_has_machines_to_come() -> None:
    one = parse.set_of(listed(), "scope", "jobs")
    assert one is not None
    assert not one.over
    assert [machine.worker for machine in parse.machines([], [one], lambda _: True)] == [0, 1]


@pytest.mark.parametrize(
    "more",
    [
        {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}},
        {"conditions": [{"type": "Failed", "status": "True"}]},
        {"conditions": [{"type": "Complete", "status": "True"}]},
    ],
)
def test_a_set_in_deletion_is_not_alive_and_neither_is_one_that_has_ended(more: dict[str, Any]) -> None:
    one = parse.set_of(listed(**more), "scope", "jobs")
    assert one is not None
    assert one.over
    assert list(parse.machines([], [one], lambda _: True)) == []
