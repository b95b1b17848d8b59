"""Which runner an attempt goes to: the first configured one that offers every kind of resource it wants. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from bastion.errors import RunnerError, SpecError
from bastion.instances import KINDS, slice_of, vms_of
from bastion.state import State

Offers = Mapping[str, frozenset[str] | None]
"""The kinds that each configured runner has, in the order in which they are tried; None: nobody knows yet, so maybe any."""


def offers(state: State, runners: Iterable[str]) -> Offers:
    """What these runners have: as they named it, else all that they said they hold."""
    said = {name: state.offers.get(name, state.capacity.get(name)) for name in runners}
    return {name: None if kinds is None else frozenset(kinds) for name, kinds in said.items()}


def runner_of(kinds: Iterable[str], offers: Offers) -> str:
    """The runner for an attempt that wants these kinds. One that is known to have them goes before those that may.

    Raises `RunnerError` if none has all of them.
    """
    wanted = frozenset(kinds)
    having = [name for name, own in offers.items() if own is not None and wanted <= own]
    for runner in having or [name for name, own in offers.items() if own is None]:
        return runner
    raise RunnerError(f"none of the configured runners ({', '.join(offers)}) has {' and '.join(sorted(wanted))}")


def apart(kinds: Iterable[str], offers: Offers) -> Iterator[str]:
    """What is wrong with kinds of which each is offered, and not all of them by one runner."""
    wanted = dict.fromkeys(kinds, 1)
    if offered(wanted, offers) != wanted:
        return
    try:
        runner_of(wanted, offers)
    except RunnerError as error:
        yield f"resources are of several runners: {error}; ask for one kind of machine"


def misshapen(resources: Mapping[str, int], offers: Offers) -> Iterator[str]:
    """What is wrong with an amount that is no slice and no machine, where these are what there is."""
    try:
        runner = runner_of(resources, offers)
        if runner == "gce":
            vms_of(resources)
        tpus = [kind for kind in KINDS["tpu"] if kind in resources]
        if runner == "tpu" and len(tpus) == 1:
            slice_of(tpus[0], resources[tpus[0]])
    except RunnerError:
        return  # that is told apart
    except SpecError as error:
        yield f"resources: {error}"


def offered(resources: Mapping[str, int], offers: Offers) -> Mapping[str, int]:
    """The part of these amounts that is of kinds which one of the runners has."""
    kinds = list(offers.values())
    if None in kinds:
        return resources
    return {kind: amount for kind, amount in resources.items() if any(kind in own for own in kinds if own)}
