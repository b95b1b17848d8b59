"""Kueue in a fake cluster: a workload for each set in a queue. Nobody is let in but by the test."""

from __future__ import annotations

import copy

from tests.kubernetes.fake.store import Row, Store, condition, owned_by, owner_of

QUEUE = "kueue.x-k8s.io/queue-name"
FULL = "couldn't assign flavors to pod set w: insufficient unused quota for cpu in flavor default"


def queue(store: Store, row: Row, groups: list[Row]) -> None:
    """Have a workload for a set that waits, of these groups of pods."""
    name = row["metadata"].get("labels", {}).get(QUEUE)
    if not (name and row["spec"].get("suspend")) or owner_of(row) or list(store.owned("Workload", row)):
        return
    pods = [
        {
            "name": group["name"],
            "count": group["replicas"] * group["template"]["spec"]["parallelism"],
            "template": copy.deepcopy(group["template"]["spec"]["template"]),
        }
        for group in groups
    ]
    metadata = {"name": f"{row['kind'].lower()}-{row['metadata']['name']}", "ownerReferences": owned_by(row)}
    body = {"metadata": metadata, "spec": {"queueName": name, "podSets": pods}}
    condition(store.make("Workload", row["metadata"]["namespace"], body), "QuotaReserved", "False", "Pending", FULL)


def admit(store: Store) -> None:
    """All sets may begin."""
    for workload, row in _queued(store):
        row["spec"]["suspend"] = False
        condition(workload, "QuotaReserved")
        condition(workload, "Admitted")
        condition(workload, "Evicted", "False", "QuotaReserved")
        store.touch(row)


def throw_out(store: Store, why: str) -> None:
    """All sets make way for others."""
    for workload, row in _queued(store):
        row["spec"]["suspend"] = True
        condition(workload, "Evicted", "True", "Preempted", why)
        condition(workload, "QuotaReserved", "False", "Pending", why)
        condition(workload, "Admitted", "False", "NoReservation", "The workload has no reservation")
        store.touch(row)


def _queued(store: Store) -> list[tuple[Row, Row]]:
    """The workloads, each with its set."""
    sets = {row["metadata"]["uid"]: row for row in [*store.of("JobSet"), *store.of("Job")]}
    return [(row, sets[owner_of(row)]) for row in store.of("Workload")]
