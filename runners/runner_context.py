"""What a package gives to add a runner, and what its runner is made of. Pure.

It names its `Maker` by an entry point of the group `bastion.runners`, whose name is the runner's; the built-in runners do so too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from bastion.model.interfaces import Bucket, Clock, Ids, Placement, Runner, Seal, Tasks
from bastion.model.settings.config import Config
from bastion.quota.resources import Resources

GROUP = "bastion.runners"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """All that a runner may need of the bastion that it is made for.

    `bastion` is its name, `scope` one word for it and its bucket: the same at every start, and nobody else's. `bucket` is its
    part of the store. `given` is the capacity that the settings give away, None where they say nothing; `options` the
    runner's own table, `runner_options.NAME`, and `config` all settings. `flags` are those of every worker. `environ` is the
    bastion's environment. `seal` proves which machines this bastion made. `tasks` are for work beside the caller, and
    collected by nobody else.
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
    """What an entry point names: who makes a runner of this kind."""

    def faults(self, options: Mapping[str, Any]) -> Iterable[str]:
        """What is wrong with the runner's table in the settings, each complaint naming its key.

        Asked wherever settings are checked, by the bastion at every change of the file: it looks at the value alone.
        """

    def make(self, ground: Ground) -> Runner:
        """The runner. It asks nobody yet. Raises `UsageError` for settings without which it cannot be, `RunnerError`."""

    def preview(self, ground: Ground, placement: Placement) -> str:
        """What the backend would be asked for, for this attempt, in its own words; "" where nobody would read them.

        By the settings alone: nobody is asked. Of the placement, the workers are those of one host for each replica. Raises
        `UsageError` as `make` does, `RunnerError` for what no machines can be.
        """
