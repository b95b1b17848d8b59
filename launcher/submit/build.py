"""Build a complete job spec from the fields that a user gave. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from bastion.model import layout
from bastion.model.errors import SpecError, UsageError
from bastion.model.job import instances
from bastion.model.job.alternatives import Alternative
from bastion.model.job.spec import BundleRef, JobSpec, Provenance, new_jobspec
from bastion.model.layout import job_id
from bastion.model.stored.gpu_facts import is_accelerator, is_gpu
from bastion.quota.quota import Quota
from bastion.quota.resources import Resources, text

from .spec_file import Fields

QUOTED_MAX = 300
_TEXT = re.compile(r"[\s;(]")


def build(
    fields: Fields, *, gpus: int | None, quota: Quota, capacity: Resources, request_id: str, home: str, bundle: BundleRef,
    provenance: Provenance,
) -> JobSpec:  # fmt: skip
    """Build the job spec of these fields, and fill in what they leave empty: name, project, resources and folders.

    gpus: GPUs of one replica, of the only kind that the fleet has; None or 0: none asked for.
    capacity: what the fleet has; empty: unknown.
    home: URL above the default output folders; empty: there are none.

    Raises `SpecError` with all complaints.
    """
    name, user, count = (
        fields.get("name") or default_name(fields["user"], request_id),
        fields["user"],
        fields.get("count", 1),
    )
    # An array keeps checkpoints in the output folder of each task, also where the user chose the folder of the array.
    outputs = fields.get("output_dir", "").rstrip("/") or (
        default_outputs(name, request_id, home, count) if home else ""
    )
    checkpoints = fields.get("checkpoint_dir") or (f"{outputs}/checkpoints" if outputs and count == 1 else "")
    filled = {
        "name": name,
        "project": fields.get("project") or only_project(user, quota),
        "resources": demand(fields.get("resources", {}), fields.get("instance_type", ""), gpus, capacity),
        "alternatives": [_filled(each) for each in fields.get("alternatives", ())],
        "output_dir": outputs,
        "checkpoint_dir": checkpoints,
        "bundle": bundle,
        "provenance": provenance,
    }
    return new_jobspec(**{**fields, **filled})


def default_name(user: str, request_id: str) -> str:
    """Return `<user>-<6 characters of the request id>`, using only the characters that a name may have."""
    return f"{re.sub(r'[^A-Za-z0-9.-]', '-', user)[:48]}-{request_id[-6:]}"


def default_outputs(name: str, request_id: str, home: str, count: int) -> str:
    """Return the output folder of a plain job below `home`; "" for an array: its workers add a folder for each task."""
    return f"{home}/{layout.outputs(job_id(name, request_id), 0)}" if count == 1 else ""


def only_project(user: str, quota: Quota) -> str:
    """Return the only project of the user. Raises `SpecError`, with the names of the projects if there are several."""
    projects = quota.projects_of(user)
    if len(projects) == 1:
        return projects[0]
    if not projects:
        raise SpecError(f"{user} is a member of no project; ask for a line in project_membership of the quota file")
    raise SpecError(f"{user} is a member of {', '.join(projects)}; choose one with --project_id")


def command(words: Sequence[str], *, literal: bool = False) -> list[str] | str:
    """Return the command that the user typed: one word with white space is a text for the shell, anything else an argv.

    Raises `UsageError` for a word that still has its quotes, unless `literal` is true.
    """
    if not literal:
        _refuse_quotes(words)
    if len(words) == 1 and re.search(r"\s", words[0]):
        return words[0]
    return list(words)


def _refuse_quotes(words: Sequence[str]) -> None:
    """Refuse words that were quoted twice: the user's shell removed one pair of quotes, and nothing removes the other.

    Python would run `'import jax'` as an expression with no effect, and the job would succeed with an empty log.
    """
    quoted = next((word for word in words if _has_its_quotes(word)), None)
    if quoted is None:
        return
    meant = " ".join(_typed(word[1:-1] if _has_its_quotes(word) else word) for word in words)
    shown = quoted if len(quoted) <= QUOTED_MAX else f"{quoted[:QUOTED_MAX]}…"
    again = f"write: {meant}" if len(meant) <= QUOTED_MAX else "leave one pair of quotes out"
    raise UsageError(
        f'the word "{shown}" still has its quotes; launch passes words on as they are, so {again} '
        "(--literal passes the word as it is)"
    )


def _has_its_quotes(word: str) -> bool:
    """Return True if one pair of quotes encloses the whole word, and the word looks like code and not like a name."""
    inner = word[1:-1]
    return (
        len(word) > 2
        and word[0] == word[-1]
        and word[0] in "'\""
        and word[0] not in inner
        and bool(_TEXT.search(inner))
    )


def _typed(word: str) -> str:
    """Quote a word as a person would type it into a shell."""
    return word if re.fullmatch(r"[\w@%+=:,./-]+", word) else shlex.quote(word)


def demand(asked: Resources, instance_type: str, gpus: int | None, capacity: Resources) -> dict[str, int]:
    """Return the resources of one replica: those of the instance type and those asked for, or else one cpu.

    Raises `SpecError` if both name the same kind, or if nothing is given and the fleet has no cpu.
    """
    if gpus:
        asked = {**asked, _gpu_kind(asked, instance_type, gpus, capacity): gpus}
    typed = instances.resources(instance_type) if instance_type else {}
    twice = sorted(typed.keys() & asked.keys())
    if twice:
        raise SpecError(f"--resources names {twice[0]}, which --instance_type={instance_type} gives; leave one out")
    if typed or asked:
        return {**typed, **asked}
    if capacity and "cpu" not in capacity:
        kinds = ", ".join(sorted(capacity))
        raise SpecError(f"no resources are asked for; use --resources=KIND=N with a kind of {kinds}")
    return {"cpu": 1}


def _gpu_kind(asked: Resources, instance_type: str, gpus: int, capacity: Resources) -> str:
    """Return the kind that `--gpus` means. Raises `SpecError` where the kind is not clear."""
    if gpus < 0:
        raise SpecError(f"--gpus is {gpus}; use 0 or more")
    twice = sorted(kind for kind in asked if is_gpu(kind))
    if twice or instance_type:
        raise SpecError(f"--gpus and {twice[0] if twice else instance_type} both say which GPUs; leave one out")
    if not capacity:
        raise SpecError("the GPUs of the fleet are not known yet; use --resources=KIND=N")
    kinds = gpu_kinds(capacity)
    if not kinds:
        raise SpecError(f"this fleet has no GPUs; it has {text(capacity)}")
    if len(kinds) > 1:
        choices = ", ".join(f"--resources={kind}={gpus}" for kind in kinds)
        raise SpecError(f"this fleet has GPUs of several kinds; choose one: {choices}")
    return kinds[0]


def gpu_kinds(capacity: Resources) -> list[str]:
    """List the kinds of GPU that the fleet has."""
    return sorted(kind for kind, amount in capacity.items() if amount and is_gpu(kind))


def gpu_hint(spec: JobSpec, capacity: Resources) -> str:
    """Return a hint for a job that asks for no accelerator on a fleet with GPUs; "" for any other job."""
    kinds = gpu_kinds(capacity)
    if not kinds or any(is_accelerator(kind) for choice in spec.choices for kind in choice.resources):
        return ""
    how = "--gpus=1" if len(kinds) == 1 else f"--resources={kinds[0]}=1, or another of {', '.join(kinds)}"
    return f"no GPU asked for; add {how}"


def _filled(asked: Alternative) -> Alternative:
    """Add the resources of its instance type to an alternative. Raises `SpecError` where the two differ on a kind."""
    typed = instances.resources(asked.instance_type) if asked.instance_type else {}
    for kind in sorted(typed.keys() & asked.resources.keys()):
        if typed[kind] != asked.resources[kind]:
            raise SpecError(
                f"an alternative asks for {kind} beside {asked.instance_type}, which gives it; leave one out"
            )
    return msgspec.structs.replace(asked, resources={**typed, **asked.resources})


def choices(types: str, rows: Sequence[Mapping[str, int]], replicas: int) -> list[Alternative]:
    """List the shapes that `--instance_type=A,B` or `--resources` names, in the order given. Raises `SpecError`."""
    named = [name.strip() for name in types.split(",")]
    if len(named) > 1 and not all(named):
        raise SpecError(f"--instance_type is {types[:64]!r}; use TYPE,TYPE without gaps")
    if len(named) > 1 and len(rows) > 1:
        raise SpecError(
            "--instance_type and --resources both list choices; list them in one, and what goes with each in the other"
        )
    pairs = zip(named * len(rows), [*rows] * len(named), strict=True)
    return [Alternative(instance_type=name, resources=dict(row), replicas=replicas) for name, row in pairs]


def listed(texts: Sequence[str]) -> list[dict[str, int]]:
    """Parse the amounts of each choice of `--resources=KIND=N/KIND=N`. Raises `SpecError`."""
    return [amounts([part], "--resources") for part in ",".join(texts).split("/")] if texts else [{}]


def amounts(texts: Iterable[str], what: str) -> dict[str, int]:
    """Parse `v4=4,cpu=2`, or several such texts, into amounts by kind. Raises `SpecError`."""
    found: dict[str, int] = {}
    for part in (part.strip() for each in texts for part in each.split(",")):
        kind, equals, number = part.partition("=")
        if not (equals and kind and re.fullmatch(r"-?[0-9]{1,18}", number)):
            raise SpecError(f"{what} has {part[:64]!r}; use KIND=N with a whole number, as in v4=4,cpu=2")
        if kind in found:
            raise SpecError(f"{what} names {kind} twice; name it once")
        found[kind] = int(number)
    return found
