"""Import paths of before 0.1.0 that packages of others use: each answers with what lies elsewhere now.

These are the paths that the page on writing a runner named. A finder at the end of the path answers for them, so that a module
of a user's own that has one of these names stays the user's. They will be answered for until 0.2.0.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

MOVED: Mapping[str, str] = {
    "bastion.buckets": "bastion.stores",
    "bastion.buckets.local": "bastion.stores.local",
    "bastion.config": "bastion.model.settings.config",
    "bastion.errors": "bastion.model.errors",
    "bastion.ground": "bastion.runners.runner_context",
    "bastion.layout": "bastion.model.layout",
    "bastion.ports": "bastion.model.interfaces",
    "bastion.system": "bastion.platform.system",
    "bastion_testing": "bastion.testing",
    "bastion_testing.fleets": "bastion.testing.fleets",
    "bastion_testing.runner_contract": "bastion.testing.runner_contract",
    "bastion_testing.stage": "bastion.testing.stage",
    "runners": "bastion.runners",
    "runners.local": "bastion.runners.local",
    "runners.local.registry": "bastion.runners.local.registry",
    "runners.local.runner": "bastion.runners.local.runner",
}

RENAMED: Mapping[str, Mapping[str, str]] = {
    "bastion.model.errors": {
        "Denied": "AccessDenied",
        "Deposed": "LeadershipLost",
        "Full": "StoreFull",
        "Later": "NotReady",
        "LostEnd": "JournalEndLost",
        "Missing": "ObjectNotFound",
        "Newer": "NewerVersion",
        "NoBucket": "BucketNotFound",
        "NotFound": "JobNotFound",
        "OffTime": "ClockMismatch",
        "Overtaken": "VersionConflict",
    },
    "bastion.model.interfaces": {
        "Built": "BuildResult",
        "Builds": "BuildService",
        "Said": "CommandResult",
        "Sight": "MachineExistence",
        "Stored": "StoredObject",
    },
    "bastion.runners.local.registry": {"Entry": "RegistryEntry"},
    "bastion.runners.runner_context": {"Ground": "RunnerContext"},
}
"""Names in these modules that were others then: a module that is imported by its former path answers to both."""


class Former:
    """Finds and loads a module under its former name: the very module that has the new one.

    `tops`: whether it answers for names without a dot, or for those within a package that is ours.
    """

    def __init__(self, *, tops: bool) -> None:
        self._tops = tops

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        """Where a former name is asked for. A package of somebody else's that has a former name keeps what is in it."""
        above = name.rpartition(".")[0]
        if name not in MOVED or self._tops == bool(above):
            return None
        is_ours = self._tops or sys.modules.get(above) is sys.modules.get(MOVED.get(above, above))
        return ModuleSpec(name, self) if is_ours else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module of the new name."""
        module = import_module(MOVED[spec.name])
        spec.loader_state = module.__spec__
        for former, now in RENAMED.get(module.__name__, {}).items():
            setattr(module, former, getattr(module, now))
        return module

    def exec_module(self, module: ModuleType) -> None:
        """It was executed under its new name, which stays its own."""
        if module.__spec__:
            module.__spec__ = module.__spec__.loader_state


def answer() -> None:
    """Answer for the former names: within packages of ours at once, for a package itself after everybody else."""
    sys.meta_path.insert(0, Former(tops=False))
    sys.meta_path.append(Former(tops=True))
