"""A user's wish to a job spec, with nothing left to be bound later. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import msgspec

from bastion.model import layout
from bastion.model.errors import SpecError, UsageError
from bastion.model.job import instances
from bastion.model.job.alternatives import Alternative
from bastion.model.job.spec import FINISH_TIMEOUT_S, BundleRef, JobSpec, Provenance, new_jobspec
from bastion.model.stored.gpu_facts import is_accelerator, is_gpu
from bastion.model.stored.requests import job_id
from bastion.quota.demand import CLASSES, STANDARD
from bastion.quota.quota import Quota
from bastion.quota.resources import Resources, text

QUOTED_MAX = 300
_TEXT = re.compile(r"[\s;(]")


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecOptions:
    """What the command line says. Empty texts and None stand for what was not said; times in seconds."""

    user: str
    command: list[str] | str
    name: str
    project: str
    env: Mapping[str, str]
    resources: Resources
    instance_type: str
    replicas: int
    alternatives: Sequence[Alternative] = ()
    count: int
    priority: int
    max_tries: int
    retry_interval_s: float
    grace_s: float
    time_limit_s: float | None
    finish_timeout_s: float = FINISH_TIMEOUT_S
    crash_guard: bool = True
    output_dir: str
    checkpoint_dir: str = ""
    setup: str = ""
    shell: str = ""
    outputs: Sequence[str] = ()
    gpus: int | None = None
    after: Sequence[str] = ()
    begin: datetime | None = None
    deadline: datetime | None = None
    max_parallel: int | None = None
    job_class: str = CLASSES[STANDARD]
    max_tier: int = 0


def build(
    wish: SpecOptions, *, quota: Quota, pool: Resources, request_id: str, home: str, bundle: BundleRef,
    provenance: Provenance,
) -> JobSpec:  # fmt: skip
    """The job spec of a wish. Default output folders lie below the URL `home`, if any. Raises `SpecError` with all complaints."""
    name = wish.name or default_name(wish.user, request_id)
    # The tasks of an array have a folder each, and their checkpoints lie in it, whoever has named the folder of all.
    outputs = wish.output_dir.rstrip("/") or (default_outputs(name, request_id, home, wish.count) if home else "")
    return new_jobspec(
        name=name,
        user=wish.user,
        project=wish.project or only_project(wish.user, quota),
        command=wish.command,
        env=dict(wish.env),
        resources=demand(wish, pool),
        instance_type=wish.instance_type,
        replicas=wish.replicas,
        alternatives=[_filled(each) for each in wish.alternatives],
        count=wish.count,
        priority=wish.priority,
        max_tries=wish.max_tries,
        retry_interval_s=wish.retry_interval_s,
        grace_s=wish.grace_s,
        time_limit_s=wish.time_limit_s,
        finish_timeout_s=wish.finish_timeout_s,
        crash_guard=wish.crash_guard,
        after=list(wish.after),
        begin=wish.begin,
        deadline=wish.deadline,
        max_parallel=wish.max_parallel,
        job_class=wish.job_class,
        max_tier=wish.max_tier,
        bundle=bundle,
        setup=wish.setup,
        shell=wish.shell,
        output_dir=outputs,
        outputs=list(wish.outputs),
        checkpoint_dir=wish.checkpoint_dir or (f"{outputs}/checkpoints" if outputs and wish.count == 1 else ""),
        provenance=provenance,
    )


def default_name(user: str, request_id: str) -> str:
    """`<user>-<6 characters>`, of the characters that a name may have."""
    return f"{re.sub(r'[^A-Za-z0-9.-]', '-', user)[:48]}-{request_id[-6:]}"


def default_outputs(name: str, request_id: str, home: str, count: int) -> str:
    """The folder of a plain job below `home`; empty for an array, whose tasks get one each from their workers."""
    return f"{home}/{layout.outputs(job_id(name, request_id), 0)}" if count == 1 else ""


def only_project(user: str, quota: Quota) -> str:
    """The one project that the user belongs to. Raises `SpecError` naming theirs if there are more, or none."""
    projects = quota.projects_of(user)
    if len(projects) == 1:
        return projects[0]
    if not projects:
        raise SpecError(f"{user} is a member of no project; ask for a line in project_membership of the quota file")
    raise SpecError(f"{user} is a member of {', '.join(projects)}; choose one with --project_id")


def command(words: Sequence[str], *, literal: bool = False) -> list[str] | str:
    """The command that was typed: one word with white space in it is a text for the shell, anything else an argv.

    Raises `UsageError` for a word that still has its quotes, unless it is `literal`.
    """
    if not literal:
        _refuse_quotes(words)
    if len(words) == 1 and re.search(r"\s", words[0]):
        return words[0]
    return list(words)


def _refuse_quotes(words: Sequence[str]) -> None:
    """Refuse words quoted twice: the user's shell took one pair of quotes off, and nothing here takes off the other.

    Python would run `'import jax'` as a text that does nothing, and the job would succeed with an empty log.
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
    """Whether one pair of quotes holds the whole word, and the word is a text and no name."""
    inner = word[1:-1]
    return (
        len(word) > 2
        and word[0] == word[-1]
        and word[0] in "'\""
        and word[0] not in inner
        and bool(_TEXT.search(inner))
    )


def _typed(word: str) -> str:
    """A word as a person types it into a shell."""
    return word if re.fullmatch(r"[\w@%+=:,./-]+", word) else shlex.quote(word)


def demand(wish: SpecOptions, pool: Resources) -> dict[str, int]:
    """What one replica holds: the instance type's, and what is asked for besides it; one cpu if nothing is said."""
    wish = _with_gpus(wish, pool)
    typed = instances.resources(wish.instance_type) if wish.instance_type else {}
    twice = sorted(typed.keys() & wish.resources.keys())
    if twice:
        raise SpecError(
            f"--resources names {twice[0]}, which --instance_type={wish.instance_type} gives; leave one out"
        )
    if typed or wish.resources:
        return {**typed, **wish.resources}
    if pool and "cpu" not in pool:
        raise SpecError(f"no resources are asked for; use --resources=KIND=N with a kind of {', '.join(sorted(pool))}")
    return {"cpu": 1}


def _with_gpus(wish: SpecOptions, pool: Resources) -> SpecOptions:
    """The wish with its GPUs by their kind. Raises `SpecError` where --gpus alone does not say which."""
    if not wish.gpus:
        return wish
    if wish.gpus < 0:
        raise SpecError(f"--gpus is {wish.gpus}; use 0 or more")
    said = sorted(kind for kind in wish.resources if is_gpu(kind))
    if said or wish.instance_type:
        raise SpecError(f"--gpus and {said[0] if said else wish.instance_type} both say which GPUs; leave one out")
    if not pool:
        raise SpecError("what GPUs the fleet has is not known yet; use --resources=KIND=N")
    kinds = gpu_kinds(pool)
    if not kinds:
        raise SpecError(f"this fleet has no GPUs; it has {text(pool)}")
    if len(kinds) > 1:
        choices = ", ".join(f"--resources={kind}={wish.gpus}" for kind in kinds)
        raise SpecError(f"this fleet has GPUs of several kinds; choose one: {choices}")
    return replace(wish, resources={**wish.resources, kinds[0]: wish.gpus})


def gpu_kinds(pool: Resources) -> list[str]:
    """The kinds of GPU that a fleet has."""
    return sorted(kind for kind, amount in pool.items() if amount and is_gpu(kind))


def gpu_hint(spec: JobSpec, pool: Resources) -> str:
    """What to say of a job that asks for no accelerator on a fleet with GPUs; "" for any other."""
    kinds = gpu_kinds(pool)
    if not kinds or any(is_accelerator(kind) for choice in spec.choices for kind in choice.resources):
        return ""
    how = "--gpus=1" if len(kinds) == 1 else f"--resources={kinds[0]}=1, or another of {', '.join(kinds)}"
    return f"no GPU asked for; add {how}"


def _filled(asked: Alternative) -> Alternative:
    """An alternative with what its instance type gives."""
    typed = instances.resources(asked.instance_type) if asked.instance_type else {}
    for kind in sorted(typed.keys() & asked.resources.keys()):
        if typed[kind] != asked.resources[kind]:
            raise SpecError(
                f"an alternative asks for {kind} beside {asked.instance_type}, which gives it; leave one out"
            )
    return msgspec.structs.replace(asked, resources={**typed, **asked.resources})


def choices(types: str, rows: Sequence[Mapping[str, int]], replicas: int) -> list[Alternative]:
    """What `--instance_type=A,B` lists, or the amounts of `--resources`, the first one first. Raises `SpecError`."""
    named = [name.strip() for name in types.split(",")]
    if len(named) > 1 and not all(named):
        raise SpecError(f"--instance_type is {types[:64]!r}; use TYPE,TYPE without gaps")
    if len(named) > 1 and len(rows) > 1:
        raise SpecError(
            "--instance_type and --resources both list choices; list them in one, what comes with each in the other"
        )
    pairs = zip(named * len(rows), [*rows] * len(named), strict=True)
    return [Alternative(instance_type=name, resources=dict(row), replicas=replicas) for name, row in pairs]


def listed(texts: Sequence[str]) -> list[dict[str, int]]:
    """The amounts of each choice of `--resources=KIND=N/KIND=N`. Raises `SpecError`."""
    return [amounts([part], "--resources") for part in ",".join(texts).split("/")] if texts else [{}]


def amounts(texts: Iterable[str], what: str) -> dict[str, int]:
    """`v4=4,cpu=2`, or several of that, to amounts. Raises `SpecError`."""
    found: dict[str, int] = {}
    for part in (part.strip() for each in texts for part in each.split(",")):
        kind, equals, number = part.partition("=")
        if not (equals and kind and re.fullmatch(r"-?[0-9]{1,18}", number)):
            raise SpecError(f"{what} has {part[:64]!r}; use KIND=N with a whole number, as in v4=4,cpu=2")
        if kind in found:
            raise SpecError(f"{what} names {kind} twice; name it once")
        found[kind] = int(number)
    return found


def environment(texts: Iterable[str]) -> dict[str, str]:
    """`K=V` of each `--env`. Raises `SpecError`."""
    pairs = [text.partition("=") for text in texts]
    wrong = next((name for name, equals, _ in pairs if not equals), None)
    if wrong is not None:
        raise SpecError(f"--env is {wrong[:64]!r}; use --env NAME=VALUE")
    return {name: value for name, _, value in pairs}
