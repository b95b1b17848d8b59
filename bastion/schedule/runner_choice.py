"""Choose the runner of an attempt: the one that the settings name, else the first that has all it wants. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from bastion.quota.resources import Resources

from ..model.errors import RunnerError, SpecError
from ..model.job.instances import KINDS, slice_of, vms_of
from ..model.settings.config import Config
from ..model.settings.tables import row_of
from ..model.state.state import State

COMPANIONS = frozenset({"cpu", "memory"})
"""The kinds that come with other kinds. If such another kind is sent to a runner, they go there too."""

Kinds = Mapping[str, Sequence[str] | None]
"""The kinds of each runner that has reported them; None: it may have any."""

Taken = Mapping[tuple[str, tuple[str, ...]], int]
"""The amount of a kind that was already given to tiers, by the kind and the runners that hold it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerChoice:
    """The configured runners, in the order in which they are tried.

    offers: the kinds that each runner has; None: not known, so it may have any.
    capacity: the amounts of each runner that has reported; None: it set no bound.
    placed: the runner of each tier, by kind or instance type, where the settings name any. The last one applies to all
        further tiers.
    """

    offers: Mapping[str, frozenset[str] | None]
    capacity: Mapping[str, Resources | None]
    placed: Mapping[str, Sequence[str]]

    def runner_of(self, resources: Resources, tier: int) -> str:
        """Return the runner for replicas of this size in this tier.

        A runner that is known to have all of it goes before those that may have it. Raises `RunnerError` if none has
        it, or if the settings name several runners, or one that does not have it.
        """
        wanted, named = frozenset(resources), self._named(resources, tier)
        if len({*named.values()}) > 1:
            told = " and ".join(f"{kind} to {runner}" for kind, runner in sorted(named.items()))
            raise RunnerError(f"placing of config.toml sends {told}")
        there = named.values() if named else self._may_give(wanted, tier)
        offers = {name: own for name, own in self.offers.items() if name in there}
        having = [name for name, own in offers.items() if own is not None and wanted <= own]
        for runner in having or [name for name, own in offers.items() if own is None]:
            return runner
        which = "none of the configured runners" if not named else "the runner that placing of config.toml names"
        raise RunnerError(f"{which} ({', '.join(offers)}) has {' and '.join(sorted(wanted))}")

    @property
    def partition_starts(self) -> tuple[int, ...]:
        """Return the tiers that begin a new partition.

        One begins where the runner of some kind differs from that of the tier before.
        """
        rows = self.placed.values()
        changes = {tier for row in rows for tier in range(1, len(row)) if row[tier] != row[tier - 1]}
        return tuple(sorted(changes))

    def passed_over(self, blind: Iterable[str]) -> frozenset[str]:
        """Return the unreachable runners, if there are several partitions, so that others may stand in for them."""
        return frozenset(blind) if self.partition_starts else frozenset()

    def runners_of(self, resources: Resources, max_tier: int | None) -> list[str]:
        """Return the runners of the partitions that a job accepts, best first; empty if no runner has what it wants."""
        return list(dict.fromkeys(name for tier in self._firsts(max_tier) for name in self.runners_at(resources, tier)))

    def runners_at(self, resources: Resources, tier: int) -> list[str]:
        """Return the runner in this tier; empty if no runner has what is wanted there."""
        try:
            return [self.runner_of(resources, tier)]
        except RunnerError:
            return []

    def _firsts(self, max_tier: int | None) -> list[int]:
        """Return the first tier of each partition that a job accepts."""
        return [tier for tier in (0, *self.partition_starts) if max_tier is None or tier <= max_tier]

    def faults(self, resources: Resources, max_tier: int | None) -> Iterator[str]:
        """Say what keeps a job from its runner in any partition that it accepts.

        Either its kinds belong to several runners there, or the runner has no such shape.
        """
        said = dict[str, None]()
        for tier in self._firsts(max_tier):
            said |= dict.fromkeys(self._faults(resources, tier))
        yield from said

    def _faults(self, resources: Resources, tier: int) -> Iterator[str]:
        if self.offered(resources, tier) != resources:
            return
        where = f" in tier {tier}; --max_tier={tier - 1} leaves it out" if tier else ""
        try:
            _shape(self.runner_of(resources, tier), resources)
        except RunnerError as error:
            yield f"resources are of several runners: {error}; ask for one kind of machine{where}"
        except SpecError as error:
            yield f"resources: {error}{where}"

    def shared(self) -> Mapping[tuple[str, ...], list[str]]:
        """Return the kinds that several runners have and the settings send nowhere, by the runners that have them.

        The first of these runners gives them all.
        """
        found = dict[tuple[str, ...], list[str]]()
        sent = {*self.placed, *map(_kind_of, self.placed)} | COMPANIONS
        for kind in sorted({kind for own in self.offers.values() for kind in own or ()} - sent):
            having = tuple(name for name, own in self.offers.items() if own is not None and kind in own)
            if len(having) > 1:
                found.setdefault(having, []).append(kind)
        return found

    def offered(self, resources: Resources, tier: int) -> Resources:
        """Return the part of these amounts that some runner gives in this tier."""
        return {kind: amount for kind, amount in resources.items() if self.suppliers(kind, tier)}

    def bounds(self, resources: Resources, tier: int, taken: Taken) -> dict[str, int] | None:
        """Return how much the runners of this tier hold, without what was `taken` from them for better tiers.

        For a kind without a bound, this is the amount in `resources`. None if no runner has a bound.
        """
        kinds = {kind: None for held in self.capacity.values() for kind in held or ()} | dict.fromkeys(resources)
        found: dict[str, int] = {}
        for kind in kinds:
            suppliers = self.suppliers(kind, tier)
            held = [self.capacity[name] for name in suppliers if name in self.capacity]
            amounts = [one.get(kind, 0) for one in held if one is not None]
            if held and len(amounts) == len(held):
                found[kind] = max(0, sum(amounts) - taken.get((kind, suppliers), 0))
            elif kind in resources:
                found[kind] = resources[kind]
        return found if any(held is not None for held in self.capacity.values()) else None

    def suppliers(self, kind: str, tier: int) -> tuple[str, ...]:
        """Return the runners that give this kind to jobs in this tier.

        There is only one, except for kinds that come with others, and for instance types with runners of their own.
        """
        offers = {name: self.offers[name] for name in self._may_give({kind}, tier)}
        having = [name for name, own in offers.items() if own is not None and kind in own]
        having = having or [name for name, own in offers.items() if own is None]
        rows = [row for key, row in self.placed.items() if kind in (key, _kind_of(key))]
        named = {_at(row, tier) for row in rows}
        if kind not in self.placed:
            named.update(having if kind in COMPANIONS else having[:1])
        return tuple(name for name in having if name in named)

    def _may_give(self, kinds: Set[str], tier: int) -> list[str]:
        """Return the runners that may give these kinds in a tier, whatever the table says about the kinds.

        A runner that the table names only for other tiers keeps its `cpu` and `memory` for those tiers.
        """
        known = {runner for row in self.placed.values() for runner in row}
        elsewhere = known - {_at(row, tier) for row in self.placed.values()} if kinds <= COMPANIONS else ()
        return [name for name in self.offers if name not in elsewhere]

    def _named(self, resources: Resources, tier: int) -> Mapping[str, str]:
        """Return the runner that the settings name for each kind wanted in this tier: by instance type, or by kind."""
        types = {kind: f"{family}-{kind}-{amount}" for family, kind, amount in _typed(resources)}
        keys = {kind: types[kind] if types.get(kind) in self.placed else kind for kind in resources}
        named = {kind: _at(self.placed[key], tier) for kind, key in keys.items() if key in self.placed}
        return {kind: runner for kind, runner in named.items() if kind not in COMPANIONS} or named


def places(state: State, config: Config) -> RunnerChoice:
    """Return the runners of the settings, with the kinds and amounts that each reported."""
    return places_of(kinds_said(state), state.capacity, config)


def kinds_said(state: State) -> dict[str, list[str] | None]:
    """Return the kinds of each runner: those that it named, else all kinds that it holds."""
    held = {name: None if amounts is None else sorted(amounts) for name, amounts in state.capacity.items()}
    return held | state.offers


def places_of(said: Kinds, capacity: Mapping[str, Resources | None], config: Config) -> RunnerChoice:
    """Return the runners of the settings, with these kinds and amounts."""
    offers = {name: said.get(name) for name in config.runners}
    return RunnerChoice(
        offers={name: None if own is None else frozenset(own) for name, own in offers.items()},
        capacity={name: capacity[name] for name in config.runners if name in capacity},
        placed={key: row_of(row) for key, row in config.placing.items()},
    )


def _at(row: Sequence[str], tier: int) -> str:
    """Return the runner that a row of the table names for a tier."""
    return row[min(tier, len(row) - 1)]


def _shape(runner: str, resources: Resources) -> None:
    """Raise `SpecError` for an amount that is no slice and no machine, if the runner gives only these."""
    if runner == "gce":
        vms_of(resources)
    tpus = [kind for kind in KINDS["tpu"] if kind in resources]
    if runner == "tpu" and len(tpus) == 1:
        slice_of(tpus[0], resources[tpus[0]])


def _typed(resources: Resources) -> Iterator[tuple[str, str, int]]:
    """Yield family, kind and amount of each accelerator: the parts of an instance type."""
    for family, kinds in KINDS.items():
        yield from ((family, kind, resources[kind]) for kind in kinds if kind in resources)


def _kind_of(key: str) -> str:
    """Return the kind of an instance type; empty if the key is none."""
    family, _, rest = key.partition("-")
    return rest.rpartition("-")[0] if family in KINDS else ""
