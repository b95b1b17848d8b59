"""Slices and VMs, and what differs between them, for those who tell the same stories of both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from bastion.model.settings.tables import GoogleSettings
from bastion.runners.google.gce.runner import GceRunner
from bastion.runners.google.tpu.runner import TpuRunner
from tests.google.fake import Fake
from tests.google.fake.fake import PROJECT

SCOPE = "bastion-0123abcd"
Shape = tuple[dict[str, int], int]
"""The resources of a replica, and how many replicas."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One of Google's runners, and what its machines are called.

    `creations` and `deletion` are methods of the API, the first of `creations` that of the machines themselves. `machines`
    is what a machine is listed as, `costs` all that may be left of one. `limited` is a quota, and where it is. `shapes` are
    jobs for storms, `one` the smallest of them; `pool` is what there is for them.
    """

    service: str
    runner: Callable[..., Any]
    zones: tuple[str, str]
    creations: tuple[str, ...]
    deletion: str
    machines: str
    costs: tuple[str, ...]
    permission: str
    limited: tuple[str, str]
    one: dict[str, int]
    pool: dict[str, int]
    shapes: tuple[Shape, ...]

    @property
    def name(self) -> str:
        """The runner's."""
        return str(self.runner.name)  # type: ignore[attr-defined]

    def settings(self, **more: Any) -> GoogleSettings:
        """Two zones of the project, and whatever else is said."""
        return GoogleSettings(**{"project": PROJECT, "zones": list(self.zones), **more})


TPU = Kind(
    service="tpu",
    runner=TpuRunner,
    zones=("us-east5-b", "us-east1-d"),
    creations=("tpu.projects.locations.queuedResources.create",),
    deletion="tpu.projects.locations.queuedResources.delete",
    machines="nodes",
    costs=("queuedResources", "nodes"),
    permission="tpu.nodes.create",
    limited=("v6e", "us-east5-b"),
    one={"v6e": 8},
    pool={"v6e": 64},
    shapes=(({"v6e": 8}, 1), ({"v6e": 16}, 1), ({"v6e": 16}, 2), ({"v6e": 8}, 2)),
)

GCE = Kind(
    service="compute",
    runner=GceRunner,
    zones=("us-central1-a", "us-central1-c"),
    creations=("compute.instances.bulkInsert", "compute.resourcePolicies.insert"),
    deletion="compute.instances.delete",
    machines="instances",
    costs=("instances", "disks", "resourcePolicies"),
    permission="compute.instances.create",
    limited=("NVIDIA_A100_GPUS", "us-central1"),
    one={"l4": 1},
    pool={"a100": 64, "l4": 8},
    shapes=(({"a100": 8}, 1), ({"a100": 8}, 2), ({"a100": 8}, 3), ({"l4": 1}, 2)),
)


class FakesClock:
    """The time of the fake; to sleep is to let it pass."""

    def __init__(self, fake: Fake) -> None:
        self._clock = fake.clock

    def wall(self) -> datetime:
        return datetime.fromtimestamp(self._clock.now, UTC)

    def monotonic(self) -> float:
        return self._clock.now

    def sleep(self, seconds: float) -> None:
        self._clock.advance(seconds)


def at_once(work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """As `Tasks.map`: one after the other."""

    def one(item: Any) -> Any:
        try:
            return work(item)
        except Exception as error:
            return error

    return [one(item) for item in items]
