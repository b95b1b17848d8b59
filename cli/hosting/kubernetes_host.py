"""Host a bastion as a Deployment in a Kubernetes cluster: make it for `bastion create`, and find it by the settings."""

from __future__ import annotations

from typing import Any

from bastion.model.errors import UsageError
from bastion.model.settings.config import Config
from bastion.platform.local_paths import mark
from bastion.platform.system import SystemClock
from bastion.runners.hosting import HostingPlan, PlannedStep, Tell
from bastion.runners.kubernetes.bastion_objects import DeployedBastion, namespace_uid, work
from bastion.runners.kubernetes.deployment import BastionDeployment, faults, name_of
from bastion.runners.kubernetes.fleet import checked, door
from bastion.runners.kubernetes.interface import Cluster
from bastion.runners.kubernetes.settings import KubernetesSettings

from ..common import installed_runners
from ..common.place import BastionPlace, stored
from ..options.bastion import HostingOptions
from ..terminal.main import Call

NAME = "kubernetes"
_KEYS = {
    "namespace": "namespace",
    "worker_image": "image",
    "service_account": "service_account",
    "bucket_secret": "bucket_secret",
}
"""The setting for each flag."""


def settings(call: Call[HostingOptions], place: BastionPlace) -> dict[str, Any]:
    """Return the settings for the cluster, by the names in `config.toml`. Flags that are not set keep the old values.

    Raises `UsageError` for another --runner, without an image, or if the bastion has a Deployment elsewhere.
    """
    if (said := call.options.runner) not in (None, NAME):
        raise UsageError(f"--runner={said} runs the bastion on this machine; leave out the flags of a VM or Deployment")
    old = stored(place)
    options = dict(old.runner_options.get(NAME, {}))
    options |= {key: call.options.values[flag] for flag, key in _KEYS.items() if call.options.values.get(flag)}
    if "image" not in options:
        raise UsageError("the image of the workers is not set; use --worker_image=REGISTRY/bastion-worker@sha256:...")
    given = checked(options)
    here = namespace_uid(door(given, SystemClock()), given.namespace)
    if (held := hosting(place)) and (held.uid, held.namespace) != (here, given.namespace):
        held.status()  # raises if this is not the cluster of the old Deployment
        raise UsageError(
            f"{held.name} is in {held.where}; run bastion delete there before you move it to {given.namespace}"
        )
    runners = old.runners if NAME in old.runners else [NAME, *(one for one in old.runners if one != "local")]
    return {"runners": runners, "runner_options": {**old.runner_options, NAME: {**options, "deployed_in": here}}}


def site(call: Call[HostingOptions], place: BastionPlace, config: Config) -> HostingPlan:
    """Return the plan for this bastion's hosting. Raises `UsageError` if it is not possible."""
    if wrong := list(installed_runners.faults(config)):
        raise UsageError("; ".join(wrong))
    given = checked(config.runner_options[NAME])
    deployed = _deployed(place, given, door(given, SystemClock()))
    host = BastionDeployment(
        scope=_scope(place),
        bucket=place.root.url,
        flags=place.flags(),
        image=call.options.image or deployed.image(),
        settings=given,
    )
    if wrong := list(faults(host)):
        raise UsageError("; ".join(wrong))

    def todo(tell: Tell | None) -> list[PlannedStep]:
        return list(work(door(given, SystemClock(), tell), host))

    return HostingPlan(hosting=deployed, work=todo)


def hosting(place: BastionPlace, tell: Tell | None = None) -> DeployedBastion | None:
    """Return the Deployment of this bastion; None if its settings name none.

    With `tell`, calls that would change something are reported and not made.
    """
    options = stored(place).runner_options.get(NAME, {})
    if not options.get("deployed_in"):
        return None
    given = checked(options)
    return _deployed(place, given, door(given, SystemClock(), tell), waits=tell is None)


def forget(place: BastionPlace) -> dict[str, Any]:
    """Return the settings after the Deployment was deleted."""
    options = stored(place).runner_options
    return {"runner_options": {**options, NAME: {**options[NAME], "deployed_in": ""}}}


def _deployed(place: BastionPlace, given: KubernetesSettings, api: Cluster, *, waits: bool = True) -> DeployedBastion:
    return DeployedBastion(
        api=api,
        namespace=given.namespace,
        uid=given.deployed_in,
        name=name_of(_scope(place)),
        clock=SystemClock(),
        waits=waits,
    )


def _scope(place: BastionPlace) -> str:
    return mark(place.name, place.bucket.url)
