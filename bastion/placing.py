"""Which runner an attempt goes to: the one that the settings name for what it wants, else the first that has all of it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bastion.config import Config
from bastion.errors import RunnerError, SpecError
from bastion.instances import KINDS, slice_of, vms_of
from bastion.state import State
from quota.resources import Resources

COMPANIONS = frozenset({"cpu", "memory"})
"""What comes with other kinds: where such a kind has a place, all of it goes there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """The configured runners, in the order in which they are tried.

    `offers` are the kinds that each has; None: nobody knows, so maybe any. `capacity` is how much those hold that have said it;
    None: no bound. `placed` has the runners of the tiers by kind or instance type, where the settings name any: the last one
    goes for all further tiers.
    """

    offers: Mapping[str, frozenset[str] | None]
    capacity: Mapping[str, Resources | None]
    placed: Mapping[str, Sequence[str]]

    def runner_of(self, resources: Resources, tier: int) -> str:
        """The runner for replicas of this size in this tier. One that is known to have all of it goes before those that may.

        Raises `RunnerError` if none has, or the settings name several, or one that has not.
        """
        wanted, named = frozenset(resources), self._named(resources, tier)
        if len({*named.values()}) > 1:
            told = " and ".join(f"{kind} to {runner}" for kind, runner in sorted(named.items()))
            raise RunnerError(f"placing of config.toml sends {told}")
        offers = {name: own for name, own in self.offers.items() if not named or name in named.values()}
        having = [name for name, own in offers.items() if own is not None and wanted <= own]
        for runner in having or [name for name, own in offers.items() if own is None]:
            return runner
        which = "none of the configured runners" if not named else "the runner that placing of config.toml names"
        raise RunnerError(f"{which} ({', '.join(offers)}) has {' and '.join(sorted(wanted))}")

    @property
    def walls(self) -> frozenset[int]:
        """The tiers whose runner of any kind is another than that of the tier before: with each a new side begins."""
        rows = self.placed.values()
        return frozenset(
            tier for runners in rows for tier in range(1, len(runners)) if runners[tier] != runners[tier - 1]
        )

    def apart(self, resources: Resources) -> Iterator[str]:
        """What is wrong with kinds of which each is offered, and not all of them by one runner."""
        if self.offered(resources) != resources:
            return
        try:
            self.runner_of(resources, 0)
        except RunnerError as error:
            yield f"resources are of several runners: {error}; ask for one kind of machine"

    def misshapen(self, resources: Resources) -> Iterator[str]:
        """What is wrong with an amount that is no slice and no machine, where these are what there is."""
        try:
            runner = self.runner_of(resources, 0)
            if runner == "gce":
                vms_of(resources)
            tpus = [kind for kind in KINDS["tpu"] if kind in resources]
            if runner == "tpu" and len(tpus) == 1:
                slice_of(tpus[0], resources[tpus[0]])
        except RunnerError:
            return  # that is told apart
        except SpecError as error:
            yield f"resources: {error}"

    def offered(self, resources: Resources) -> Resources:
        """The part of these amounts that is of kinds which one of the runners has."""
        return {kind: amount for kind, amount in resources.items() if self._suppliers(kind)}

    def bounds(self, wished: Resources) -> dict[str, int] | None:
        """How much the runners hold; of kinds without a bound as much as is wished. None if nothing is known to have one."""
        kinds = {kind: None for held in self.capacity.values() for kind in held or ()} | dict.fromkeys(wished)
        found: dict[str, int] = {}
        for kind in kinds:
            held = [self.capacity[name] for name in self._suppliers(kind) if name in self.capacity]
            amounts = [one.get(kind, 0) for one in held if one is not None]
            if held and len(amounts) == len(held):
                found[kind] = sum(amounts)
            elif kind in wished:
                found[kind] = wished[kind]
        return found if any(held is not None for held in self.capacity.values()) else None

    def _suppliers(self, kind: str) -> list[str]:
        """The runners that jobs get this kind from."""
        having = [name for name, own in self.offers.items() if own is not None and kind in own]
        having = having or [name for name, own in self.offers.items() if own is None]
        if any(_kind_of(key) == kind for key in self.placed):
            return having
        return [name for name in having if name in self.placed.get(kind, (name,))]

    def _named(self, resources: Resources, tier: int) -> Mapping[str, str]:
        """The runners that the settings name for what is wanted in this tier: by instance type, or by kind."""
        types = {kind: f"{family}-{kind}-{amount}" for family, kind, amount in _typed(resources)}
        keys = {kind: types[kind] if types.get(kind) in self.placed else kind for kind in resources}
        rows = {kind: self.placed[key] for kind, key in keys.items() if key in self.placed}
        named = {kind: runners[min(tier, len(runners) - 1)] for kind, runners in rows.items()}
        return {kind: runner for kind, runner in named.items() if kind not in COMPANIONS} or named


def places(state: State, config: Config) -> Places:
    """The runners of the settings, with what each said that it has: as it named it, else all that it holds."""
    said = {name: state.offers.get(name, state.capacity.get(name)) for name in config.runners}
    return Places(
        offers={name: None if kinds is None else frozenset(kinds) for name, kinds in said.items()},
        capacity={name: state.capacity[name] for name in config.runners if name in state.capacity},
        placed={key: (runner,) for key, runner in config.placing.items()},
    )


def _typed(resources: Resources) -> Iterator[tuple[str, str, int]]:
    """Of each accelerator its family, kind and amount: the parts of an instance type."""
    for family, kinds in KINDS.items():
        yield from ((family, kind, resources[kind]) for kind in kinds if kind in resources)


def _kind_of(key: str) -> str:
    """The kind of an instance type; empty for what is none."""
    family, _, rest = key.partition("-")
    return rest.rpartition("-")[0] if family in KINDS else ""
