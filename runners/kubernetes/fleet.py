"""The maker of the runner for a Kubernetes cluster."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from bastion.model.errors import SpecError, UsageError
from bastion.model.interfaces import Clock, Placement

from ..hosting import Tell
from ..runner_context import RunnerContext
from . import render
from .client import KubernetesClient, check, log_in
from .dry_run import DryCluster
from .interface import Cluster
from .runner import KubernetesRunner
from .settings import KubernetesSettings, faults, settings

_LABEL_MAX = 63


class KubernetesMaker:
    """The maker of the runner `kubernetes`."""

    def faults(self, options: Mapping[str, Any]) -> list[str]:
        """Return what is wrong with `[runner_options.kubernetes]`."""
        return faults(options)

    def make(self, context: RunnerContext, tell: Tell | None = None) -> KubernetesRunner:
        """Return the runner. With `tell`, it only reports what it would change.

        Raises `UsageError` if settings or packages are missing.
        """
        given = checked(context.options)
        return KubernetesRunner(
            api=door(given, context.clock, tell),
            settings=given,
            scope=context.scope[-_LABEL_MAX:].lstrip("-._"),  # the end of a scope is what differs between bastions
            ids=context.ids,
            seal=context.seal,
            clock=context.clock,
            worker=render.WorkerFlags(bucket=context.bucket.url, flags=context.flags),
            given=context.given,
        )

    def preview(self, context: RunnerContext, placement: Placement) -> str:
        """Return the manifest."""
        return self.make(context).preview(placement)


def checked(options: Mapping[str, Any]) -> KubernetesSettings:
    """Return the settings in `[runner_options.kubernetes]`. Raises `UsageError`."""
    try:
        return settings(options)
    except SpecError as error:
        raise UsageError(f"runner_options.kubernetes: {error}") from error


def door(given: KubernetesSettings, clock: Clock, tell: Tell | None = None) -> Cluster:
    """Return a client of the cluster; with `tell`, one that only looks.

    Raises `UsageError` if its package is missing.
    """
    check(given.kubeconfig, given.context)
    client = KubernetesClient(partial(log_in, given.kubeconfig, given.context), clock)
    return DryCluster(client, tell) if tell else client


KUBERNETES = KubernetesMaker()
