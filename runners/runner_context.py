"""The parts that a package gives to add a runner, and the runner context that its runner is made from. Pure.

A package names its `Maker` by an entry point of the group `bastion.runners`. The entry point has the runner's name. The
built-in runners do the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from bastion.model.interfaces import Bucket, Clock, Ids, Placement, Runner, Seal, Tasks
from bastion.model.settings.config import Config
from bastion.quota.resources import Resources

GROUP = "bastion.runners"
"""The group of the entry points that name makers of runners."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerContext:
    """The runner context: all that a runner may need of the bastion that it is made for.

    bastion: the bastion's name.
    scope: one word for the bastion and its bucket; the same at every start, and no other bastion's.
    bucket: the bastion's part of the store.
    given: the capacity in the settings; None where they give none.
    options: the runner's own table, `runner_options.NAME`.
    config: all settings.
    flags: the flags of every worker.
    environ: the bastion's environment variables.
    clock: the bastion's clock.
    ids: makes new ids.
    seal: proves which machines this bastion made.
    tasks: runs work beside the caller; nobody else collects its results.
    """

    bastion: str
    scope: str
    bucket: Bucket
    given: Resources | None
    options: Mapping[str, Any]
    config: Config
    flags: Mapping[str, object]
    environ: Mapping[str, str]
    clock: Clock
    ids: Ids
    seal: Seal
    tasks: Tasks


class Maker(Protocol):
    """The maker of a kind of runner. An entry point names it."""

    def faults(self, options: Mapping[str, Any]) -> Iterable[str]:
        """Return what is wrong with the runner's table in the settings. Each complaint names its key.

        It is called wherever settings are checked, and by the bastion at every change of the file. It looks at the
        value alone.
        """

    def make(self, context: RunnerContext) -> Runner:
        """Return the runner, without a question to its backend.

        Raises `UsageError` for settings without which the runner cannot exist, and `RunnerError`.
        """

    def preview(self, context: RunnerContext, placement: Placement) -> str:
        """Return the request to the backend for this attempt, in the backend's words; "" where nobody would read it.

        It uses the settings alone, and asks nothing of the backend. The placement's workers are those of one host for
        each replica. Raises `UsageError` as `make` does, and `RunnerError` for what no machines can be.
        """
