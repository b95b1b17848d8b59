"""What Google does to machines by itself: takes them back, maintains their hosts, loses them."""

from __future__ import annotations

from random import Random

from tests.google.fake.cloud import Cloud
from tests.google.fake.compute import instances as compute_instances
from tests.google.fake.tpu import nodes as tpu_nodes
from tests.google.fake.tpu import queue as tpu_queue


def preempt(cloud: Cloud, name: str, notice_s: float) -> None:
    """A machine is taken back, after a notice: its metadata say so, and its power button is pressed."""
    if "/queuedResources/" in name:
        for node in tpu_queue.nodes_of(cloud, name):
            preempt(cloud, node, notice_s)
        return
    cloud.machines.notice(name, "preempted", "TRUE")
    if notice_s:
        cloud.machines.shut_down(name)
        cloud.clock.after(notice_s, lambda: _taken(cloud, name))
    else:
        _taken(cloud, name)


def _taken(cloud: Cloud, name: str) -> None:
    row = cloud.rows.get(name)
    if row is None:
        return
    if "/instances/" in name:
        compute_instances.preempted(cloud, name)
    elif row["state"] in ("READY", "CREATING"):
        cloud.machines.stop(name, erase=True)
        cloud.rows.change(name, state="PREEMPTED", health=None)
        if row.get("queuedResource"):
            tpu_queue.suspend(cloud, row["queuedResource"], "SERVICE")


def maintain(cloud: Cloud, name: str, in_s: float) -> None:
    """A host's maintenance is announced in the API and on the machine; when it comes, the machine goes down for a while."""
    start, end = cloud.clock.stamp(in_s), cloud.clock.stamp(in_s + 3600)
    window = {"windowStartTime": start, "latestWindowStartTime": start, "windowEndTime": end, "type": "SCHEDULED"}
    _announce(cloud, name, window | {"maintenanceStatus": "PENDING", "canReschedule": False})
    cloud.machines.notice(name, "maintenance-event", "TERMINATE_ON_HOST_MAINTENANCE")
    cloud.clock.after(in_s, lambda: _maintained(cloud, name, window))


def _announce(cloud: Cloud, name: str, window: dict[str, object]) -> None:
    row = cloud.rows.get(name) or {}
    if "/instances/" in name:
        cloud.rows.change(name, resourceStatus=row.get("resourceStatus", {}) | {"upcomingMaintenance": window})
    else:
        cloud.rows.change(name, upcomingMaintenance=window)


def _maintained(cloud: Cloud, name: str, window: dict[str, object]) -> None:
    if cloud.rows.get(name) is None:
        return
    _announce(cloud, name, window | {"maintenanceStatus": "ONGOING", "canReschedule": False})
    if "/instances/" in name:
        compute_instances.terminate_for_maintenance(cloud, name)
    else:
        # A TPU VM that was under maintenance comes up again, with its disk: a belief.
        cloud.machines.stop(name, erase=False)
        cloud.rows.change(name, state="CREATING", health="UNHEALTHY_MAINTENANCE")
        cloud.clock.after(cloud.delays.boot, lambda: _again(cloud, name))


def _again(cloud: Cloud, name: str) -> None:
    cloud.rows.change(name, upcomingMaintenance=None)
    cloud.machines.notice(name, "maintenance-event", "NONE")
    tpu_nodes.come_up(cloud, name)


def storm(cloud: Cloud, random: Random, gap_s: float) -> None:
    """From now on, every so often on average, one of the machines that run is taken back, maintained or lost."""

    def strike() -> None:
        rows = [*cloud.rows.matching(".+/nodes"), *cloud.rows.matching(".+/instances")]
        running = [name for name, row in rows if row.get("state", row.get("status")) in ("READY", "RUNNING")]
        if running:
            name, how = random.choice(running), random.random()
            if how < 0.6:
                preempt(cloud, name, random.choice((0.0, cloud.delays.notice)))
            elif how < 0.8:
                maintain(cloud, name, random.uniform(0, 600))
            else:
                vanish(cloud, name)
        storm(cloud, random, gap_s)

    cloud.clock.after(random.expovariate(1 / gap_s), strike)


def vanish(cloud: Cloud, name: str) -> None:
    """It is gone, and no operation tells why."""
    if "/queuedResources/" in name:
        for node in tpu_queue.nodes_of(cloud, name):
            vanish(cloud, node)
    if "/instances/" in name:
        compute_instances.erase(cloud, name)
        return
    cloud.machines.stop(name, erase=True)
    cloud.rows.put(name, None)
