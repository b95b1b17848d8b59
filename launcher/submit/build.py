"""Build a complete job spec from a user's options. Pure."""

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
    """The options of one submission, from the command line. Options that were not given are empty or None.

    user: login name of the user.
    command: argv, or one text for a shell.
    name: name of the job; empty: `default_name`.
    project: project that pays; empty: the only project of the user.
    env: environment variables of the job.
    resources: amount of each kind for one replica; empty: those of the instance type, else one cpu.
    instance_type: type of the machines; empty: none asked for.
    replicas: number of replicas.
    alternatives: shapes that would also do, best first.
    count: number of tasks; more than 1 makes an array.
    priority: priority of the job.
    max_tries: how often a task may be tried.
    retry_interval_s: seconds before a retry.
    grace_s: seconds between the order to stop and the kill.
    time_limit_s: longest run of an attempt in seconds; None: no limit.
    finish_timeout_s: seconds that the rest of a gang has once its first worker has ended with 0; 0: no limit.
    crash_guard: fail for good when the same error comes twice without progress.
    output_dir: URL or absolute path of the output folder; empty: the default folder, if there is one.
    checkpoint_dir: URL or absolute path for checkpoints; empty: `checkpoints` in the output folder of a plain job.
    setup: shell text that prepares the bundle once for each machine; empty: none.
    shell: shell of `command` and `setup`; empty: bash where the machine has it, else sh.
    outputs: globs of the files to save from the working folder to the output folder.
    gpus: number of GPUs of one replica, of the only kind that the fleet has; None or 0: none asked for.
    after: conditions on other jobs that must be met before the start.
    begin: earliest start; None: at once.
    deadline: time when the job is stopped; None: never.
    max_parallel: most tasks of an array that hold resources at once; None: no limit.
    job_class: work class of the job.
    max_tier: worst tier that the job accepts; 0: only the best.
    """

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
    """Build the job spec of these options. Raises `SpecError` with all complaints. Empty `home`: no default outputs."""
    name = wish.name or default_name(wish.user, request_id)
    # An array keeps checkpoints in the output folder of each task, also where the user chose the folder of the array.
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


def demand(wish: SpecOptions, pool: Resources) -> dict[str, int]:
    """Return the resources of one replica: those of the instance type and those asked for, or else one cpu.

    Raises `SpecError` if both name the same kind, or if nothing is given and the fleet has no cpu.
    """
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
    """Add the GPUs of `--gpus` to the resources, under their kind. Raises `SpecError` where the kind is not clear."""
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
    """List the kinds of GPU that the fleet has."""
    return sorted(kind for kind, amount in pool.items() if amount and is_gpu(kind))


def gpu_hint(spec: JobSpec, pool: Resources) -> str:
    """Return a hint for a job that asks for no accelerator on a fleet with GPUs; "" for any other job."""
    kinds = gpu_kinds(pool)
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
            "--instance_type and --resources both list choices; list them in one, what comes with each in the other"
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


def environment(texts: Iterable[str]) -> dict[str, str]:
    """Parse the `K=V` of each `--env` into variables. Raises `SpecError`."""
    pairs = [text.partition("=") for text in texts]
    wrong = next((name for name, equals, _ in pairs if not equals), None)
    if wrong is not None:
        raise SpecError(f"--env is {wrong[:64]!r}; use --env NAME=VALUE")
    return {name: value for name, _, value in pairs}
