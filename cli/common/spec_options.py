"""Turn the flags of a command line into the options of a job spec.

Times and job names are resolved here, before the job is submitted: times to moments, names to ids.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from bastion.launcher.durations import seconds
from bastion.launcher.moments import coming
from bastion.launcher.read.past_jobs import look_up
from bastion.launcher.submit import build
from bastion.launcher.submit.spec_file import Fields
from bastion.launcher.submit.start_after import resolved
from bastion.model.errors import UsageError
from bastion.model.job.alternatives import Alternative
from bastion.model.wording import clock

from ..terminal.main import Call
from .command_context import CommandContext, user_of
from .profile import setting_of

NONE = "none"

Told = Callable[[str, str, Callable[[], Any]], Any]
"""A function of a flag, a field and a default: it returns the file's value of the field, unless the flag is set."""


def wish_of(call: Call, said: Fields, now: datetime, *, default_shell: str = "") -> build.SpecOptions:
    """Return the options of the flags, else those of a spec file. `default_shell` is the bastion's setting."""
    flags = call.flags

    def told(flag: str, field: str, value: Callable[[], Any]) -> Any:
        return said[field] if field in said and flag not in call.given else value()

    def length(flag: str) -> Any:
        return told(flag, f"{flag}_s", lambda: seconds(flags[flag], f"--{flag}"))

    listed = build.choices(
        told("instance_type", "instance_type", lambda: flags["instance_type"] or ""),
        build.listed(flags["resources"]) if "resources" in call.given else [said.get("resources", {})],
        told("num_replicas", "replicas", lambda: flags["num_replicas"]),
    )
    return build.SpecOptions(
        user=told("user_id", "user", lambda: user_of(call)),
        command=build.command(call.after, literal=flags["literal"]) if call.after else said["command"],
        name=told("name", "name", lambda: flags["name"] or ""),
        project=told("project_id", "project", lambda: _project(call)),
        env={**said.get("env", {}), **build.environment(flags["env"])},
        resources=listed[0].resources,
        instance_type=listed[0].instance_type,
        replicas=listed[0].replicas,
        alternatives=_alternatives(call, said, listed[1:]),
        count=told("count", "count", lambda: flags["count"]),
        priority=told("priority", "priority", lambda: flags["priority"]),
        retry_interval_s=length("retry_interval"),
        grace_s=length("grace"),
        time_limit_s=told("time_limit", "time_limit_s", lambda: _limit(flags["time_limit"])),
        finish_timeout_s=length("finish_timeout"),
        output_dir=told("output_dir", "output_dir", lambda: flags["output_dir"] or ""),
        outputs=told("outputs", "outputs", lambda: flags["outputs"]),
        checkpoint_dir=told("output_dir", "checkpoint_dir", lambda: ""),
        setup=told("setup", "setup", lambda: flags["setup"] or ""),
        shell=told("shell", "shell", lambda: flags["shell"] or default_shell),
        gpus=flags["gpus"],
        **_tries(call, told),
        **_when(call, told, now),
    )


def _alternatives(call: Call, said: Fields, listed: Sequence[Alternative]) -> Sequence[Alternative]:
    """Return the alternatives of the file.

    A flag that sets the shape replaces them: they belong to another job then.
    """
    shaping = sorted({"instance_type", "resources", "num_replicas"} & call.given)
    if said.get("alternatives") and shaping and not listed:
        call.output.note(f"without the alternatives that it had: --{shaping[0]} says what it is now")
    return listed if shaping else said.get("alternatives", ())


def moment_of(call: Call, flag: str, now: datetime) -> datetime | None:
    """Return the moment that a flag sets; None for `none`, and without the flag.

    Raises `UsageError`, also for a deadline that has passed.
    """
    text = call.flags[flag]
    found = None if text in (None, NONE) else coming(text, now, f"--{flag}")
    if found and flag == "deadline" and found <= now:
        raise UsageError(f"--deadline is {clock(found, now)}: the job could never run")
    return found


def after_of(desk: CommandContext, words: Sequence[str]) -> list[str]:
    """Return the conditions of `--after`, with the ids of the jobs that its words mean now.

    Raises `NotFound`, `SpecError`.
    """
    if not words:
        return []
    view = desk.reader().look()
    return resolved(words, lambda word: look_up(word, view, desk.bucket, desk.tasks), view.state.jobs)


def _when(call: Call, told: Told, now: datetime) -> dict[str, Any]:
    flags = call.flags
    return {
        "after": told("after", "after", lambda: flags["after"]),
        "begin": told("begin", "begin", lambda: moment_of(call, "begin", now)),
        "deadline": told("deadline", "deadline", lambda: moment_of(call, "deadline", now)),
        "max_parallel": told("max_parallel", "max_parallel", lambda: flags["max_parallel"]),
        "job_class": told("class", "job_class", lambda: flags["class"]),
        "max_tier": told("max_tier", "max_tier", lambda: flags["max_tier"]),
    }


def _tries(call: Call, told: Told) -> dict[str, Any]:
    return {
        "max_tries": told("max_tries", "max_tries", lambda: call.flags["max_tries"]),
        "crash_guard": told("crash_guard", "crash_guard", lambda: call.flags["crash_guard"]),
    }


def _limit(text: str | None) -> float | None:
    return None if text in (None, NONE) else seconds(text, "--time_limit")


def _project(call: Call) -> str:
    """Return the project from the flag, the environment or the profile; empty without one."""
    found = setting_of(call, "project_id")
    return found.value if found else ""
