"""Which runner an attempt goes to: the first configured one that offers every kind of resource it wants. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from bastion.errors import RunnerError, SpecError
from bastion.instances import KINDS, slice_of, vms_of

OFFERS: Mapping[str, frozenset[str] | None] = {
    "tpu": frozenset(KINDS["tpu"]),
    "gce": frozenset(KINDS["gpu"]) | {"cpu", "memory"},
    "local": None,
}
"""The kinds that each runner has; None: whatever it is told that it has."""


def runner_of(kinds: Iterable[str], runners: Sequence[str]) -> str:
    """The runner for an attempt that wants these kinds. Raises `RunnerError` if none has all of them."""
    wanted = frozenset(kinds)
    for runner in runners:
        if (offered := OFFERS[runner]) is None or wanted <= offered:
            return runner
    raise RunnerError(f"none of the configured runners ({', '.join(runners)}) has {' and '.join(sorted(wanted))}")


def apart(kinds: Iterable[str], runners: Sequence[str]) -> Iterator[str]:
    """What is wrong with kinds of which each is offered, and not all of them by one runner."""
    wanted = dict.fromkeys(kinds, 1)
    if offered(wanted, runners) != wanted:
        return
    try:
        runner_of(wanted, runners)
    except RunnerError as error:
        yield f"resources are of several runners: {error}; ask for one kind of machine"


def misshapen(resources: Mapping[str, int], runners: Sequence[str]) -> Iterator[str]:
    """What is wrong with an amount that is no slice and no machine, where these are what there is."""
    try:
        runner = runner_of(resources, runners)
        if runner == "gce":
            vms_of(resources)
        tpus = [kind for kind in KINDS["tpu"] if kind in resources]
        if runner == "tpu" and len(tpus) == 1:
            slice_of(tpus[0], resources[tpus[0]])
    except RunnerError:
        return  # that is told apart
    except SpecError as error:
        yield f"resources: {error}"


def offered(resources: Mapping[str, int], runners: Sequence[str]) -> Mapping[str, int]:
    """The part of these amounts that is of kinds which one of the runners has."""
    kinds = [OFFERS[runner] for runner in runners]
    if None in kinds:
        return resources
    return {kind: amount for kind, amount in resources.items() if any(kind in own for own in kinds if own)}
