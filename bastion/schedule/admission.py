"""Check whether a job may enter. The client asks before it writes anything, and the bastion asks again. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from bastion.quota.quota import Quota
from bastion.quota.resources import Resources, fits, text, total

from ..model.job.alternatives import Alternative
from ..model.job.spec import JobSpec
from ..model.nearest import did_you_mean

Faults = Callable[[Resources, int | None], Iterable[str]]
"""A function that lists what is wrong with these resources in these tiers."""


def complaints(
    spec: JobSpec, quota: Quota | None, partitions: Sequence[Resources] | None, faults: Faults | None
) -> list[str]:
    """List every reason against the job.

    `partitions` are the resources of each partition of the capacity. `faults` lists what keeps a shape from its runner. An
    argument that is None is not known now, and its check is left out.
    """
    wrong = []
    if quota is not None and not quota.admits(spec.user, spec.project):
        wrong.append(_stranger(spec, quota))
    elif quota is not None and not quota.grants(spec.project, spec.job_class):
        wrong.append(not_granted(spec.project, spec.job_class))
    if partitions is not None:
        wrong += _never(spec, partitions)
    if faults is not None:
        wrong += [fault for choice in spec.choices for fault in faults(choice.resources, spec.max_tier)]
    return wrong


def _never(spec: JobSpec, partitions: Sequence[Resources]) -> list[str]:
    """List why no shape of the job can ever start. Nothing if at least one shape can."""
    found = [_too_much(choice, partitions) for choice in spec.choices]
    return [text for one in found for text in one] if all(found) else []


def hopeless(spec: JobSpec, partitions: Sequence[Resources]) -> Iterator[str]:
    """List the choices that can never start, with the reason. The other choices may still start."""
    for number, choice in enumerate(spec.choices, start=1):
        if wrong := _too_much(choice, partitions):
            yield f"choice {number}, {text(choice.demand)}, can never start: {'; '.join(wrong)}"


def _stranger(spec: JobSpec, quota: Quota) -> str:
    known = sorted({*quota.members, *quota.shares})
    if spec.project not in known:
        return f"there is no project {spec.project}; {did_you_mean(spec.project, known, f'projects are {_few(known)}')}"
    own = quota.projects_of(spec.user)
    belongs = f"{spec.user} belongs to {_few(own)}" if own else f"{spec.user} belongs to no project"
    return f"{spec.user} is not a member of {spec.project} ({belongs}); ask for a line in [project_membership]"


def not_granted(project: str, job_class: str) -> str:
    """Say that the project may not use this class of jobs."""
    return f"{project} was not granted {job_class} jobs; ask an admin for a line in [project_classes]"


_NO_CAPACITY = (
    "its capacity is not set; ask an admin to run bastion config set capacity=KIND=AMOUNT, or to set a quota file"
)


def _too_much(choice: Alternative, partitions: Sequence[Resources]) -> list[str]:
    wrong, capacity = [], total(partitions)
    for kind, amount in choice.demand.items():
        if kind not in capacity:
            hint = f"it has {text(capacity)}" if capacity else _NO_CAPACITY
            wrong.append(f"this fleet has no {kind}; {hint}")
        elif amount > capacity[kind]:
            wrong.append(f"{kind}={amount} is more than the fleet has, {kind}={capacity[kind]}; ask for less")
    if not wrong and not any(fits(choice.demand, partition) for partition in partitions):
        held = " or ".join(map(text, partitions))
        wrong.append(f"no runner's tiers hold {text(choice.demand)}, only {held}; ask for less")
    return wrong


def _few(names: Sequence[str]) -> str:
    shown = ", ".join(names[:8])
    return f"{shown} and {len(names) - 8} more" if len(names) > 8 else shown or "none"
