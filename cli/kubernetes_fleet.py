"""The runner whose fleet is a Kubernetes cluster, made of the settings."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from bastion.errors import SpecError, UsageError
from bastion.ground import Ground
from bastion.ports import Placement
from runners.kubernetes import render
from runners.kubernetes.client import Client, check, log_in
from runners.kubernetes.runner import KubernetesRunner
from runners.kubernetes.settings import faults, settings

_LABEL_MAX = 63


class Kubernetes:
    """Makes the runner `kubernetes`."""

    def faults(self, options: Mapping[str, Any]) -> list[str]:
        """What is wrong with `[runner_options.kubernetes]`."""
        return faults(options)

    def make(self, ground: Ground) -> KubernetesRunner:
        """Raises `UsageError` if settings or packages are missing."""
        try:
            given = settings(ground.options)
        except SpecError as error:
            raise UsageError(f"runner_options.kubernetes: {error}") from error
        check()
        return KubernetesRunner(
            api=Client(partial(log_in, given.kubeconfig, given.context), ground.clock),
            settings=given,
            scope=ground.scope[-_LABEL_MAX:].lstrip("-._"),  # its end tells it from others
            ids=ground.ids,
            clock=ground.clock,
            worker=render.Worker(bucket=ground.bucket.url, flags=ground.flags),
            given=ground.given,
        )

    def preview(self, ground: Ground, placement: Placement) -> str:
        """The manifest."""
        return self.make(ground).preview(placement)


KUBERNETES = Kubernetes()
