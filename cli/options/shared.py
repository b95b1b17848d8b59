"""Declare the flags that commands of both tools share, and those of a submission. Pure."""

from __future__ import annotations

from bastion.model.durations import seconds

from ..terminal.flags import Options, number, pairs, parsed, switch, text, texts

NONE = "none"


def limit(typed: str, flag: str) -> float | None:
    """Return a time limit in seconds; None for `none`. Raises `UsageError`."""
    return None if typed == NONE else seconds(typed, flag)


class UserOptions(Options):
    """The flag of commands that act as somebody."""

    user_id = text("Who you are; also BASTION_USER. The default is your login name.", "USER", default="", field="user")


class FilterOptions(Options):
    """Flags that select jobs."""

    user = texts("Jobs of these users; several as A,B or by repeating it.", "USER,...", short="u")
    project_id = texts("Jobs of these projects.", "PROJECT,...", short="p")
    state = texts("Jobs in these states, ended ones too: PENDING, RUNNING, FAILED.", "STATE,...", short="s")
    since = text("Jobs submitted since then: 10m, or 2026-01-31T09:30:00Z.", "TIME")
    label = pairs("Jobs with this label; may be repeated: with all of them.", "NAME=VALUE")


class SeveralOptions(FilterOptions, UserOptions):
    """Flags of commands about several jobs."""

    all = switch("Patterns and filters mean everybody's jobs, not yours only.")


class CodeOptions(Options):
    """Flags that say how code travels."""

    bundler_type = text(
        "How the code travels: tar (this folder), git (a pushed commit), an image of this folder's Dockerfile, built and "
        "pushed by docker, by docker to artifactregistry, or by cloudbuild, or none (no code).",
        "TYPE",
        default="tar",
        choices=("tar", "git", "docker", "artifactregistry", "cloudbuild", "none"),
        field="bundle",
    )
    bundler_spec = texts(
        "Settings of the bundler; may be repeated: source=FOLDER. Of git: repo=URL, ref=BRANCH, allow_dirty=true, "
        "submodules=true. Of images: image=HOST/PATH/NAME, dockerfile=PATH, target=STAGE, platform=OS/ARCH, cache_from=NAME, "
        "allow_dirty=true, and build arguments.",
        "KEY=VALUE",
    )


class RequestOptions(UserOptions):
    """Flags that say what a job asks for: of a submission, a rerun and a cluster."""

    project_id = text(
        "Project that pays; also BASTION_PROJECT. Default: the only one that you belong to.",
        "PROJECT",
        default="",
        field="project",
    )
    resources = texts(
        "What one replica needs: v4=4,cpu=2. Default: cpu=1. Choices are parted by /, the best first: h100=8/a100=16.",
        "KIND=N,...",
        field="resources",
    )
    instance_type = text(
        "What one replica is: tpu-v4-32, gpu-h100-8. Of several it gets the first that is free: tpu-v4-32,tpu-v5p-32.",
        "TYPE,...",
        default="",
        field="instance_type",
    )
    gpus = number(
        "GPUs of one replica, where the fleet has one kind of them; else --resources says which. 0: none, and no hint.",
        "N",
    )
    num_replicas = number("Replicas that start together or not at all.", "N", default=1, field="replicas")
    priority = number("1 is the highest, 5 the lowest.", "N", default=5, field="priority")
    max_tries = number("How often it may be tried; only its own failures count.", "N", default=1, field="max_tries")
    crash_guard = switch(
        "Try no more after the same error twice within two minutes each and without a checkpoint; --no_crash_guard tries on.",
        default=True,
        field="crash_guard",
    )
    retry_interval = parsed("Pause before the next try.", "TIME", seconds, default="60s", field="retry_interval_s")
    grace = parsed("Time between SIGTERM and SIGKILL.", "TIME", seconds, default="30s", field="grace_s")
    time_limit = parsed("The longest that an attempt may run. Default: no limit.", "TIME", limit, field="time_limit_s")
    finish_timeout = parsed(
        "Time that the others of a gang have once its first worker has ended with 0; 0: for ever.",
        "TIME",
        seconds,
        default="15m",
        field="finish_timeout_s",
    )
    after = texts(
        "Start when this job has succeeded; any:JOB when it has ended, fail:JOB when it has ended without success. May be "
        "repeated: all of them. A task of an array is JOB[17].",
        "JOB",
        field="after",
    )
    begin = text("Do not start before: +2h, 14:00 (the next, in UTC), or 2026-01-31T09:30:00Z.", "TIME", field="begin")
    deadline = text(
        "What has not ended by then is ended, and is not tried again. As of --begin.", "TIME", field="deadline"
    )
    job_class = text(
        "urgent, standard or scavenger: an admin grants a project urgent.",
        "CLASS",
        default="standard",
        choices=("urgent", "standard", "scavenger"),
        name="class",
        field="job_class",
    )
    max_tier = number("The worst tier of the quota file that will do; 0 is the best.", "N", default=0, field="max_tier")
    label = pairs(
        "Label that the job is found by, as team=rl; may be repeated. See launch ls --label.",
        "NAME=VALUE",
        field="labels",
    )
    env = pairs(
        "Environment of the command; may be repeated. NAME=secret:S is the secret S of the machine that runs it.",
        "NAME=VALUE",
        field="env",
    )
    setup = text(
        "Shell text that is run before COMMAND, once for this code on each machine, in a virtual environment that is "
        "kept: 'pip install -r requirements.txt'.",
        "TEXT",
        default="",
        field="setup",
    )
    shell = text(
        "Shell of a command text and of --setup: bash or sh. Default: the setting default_shell, else bash where there is one.",
        "SHELL",
        default="",
        choices=("bash", "sh"),
        field="shell",
    )
    dry_run = switch(
        "Print the job spec, and to the error stream what its runner would ask its engine for; write nothing."
    )


class JobOptions(RequestOptions):
    """Flags of a command that submits a job."""

    name = text("Name of the job. Default: your user name and six characters.", "NAME", default="", field="name")
    count = number(
        "Tasks of an array: the same job N times, told apart by BASTION_TASK.", "N", default=1, field="count"
    )
    max_parallel = number(
        "Tasks of an array that hold resources at once. Default: all that fit.", "N", field="max_parallel"
    )
    literal = switch("Pass the words of COMMAND on even if they still have their quotes.")
    output_dir = text(
        "URL or absolute path that outlives attempts. Default: in the bucket.", "URL", default="", field="output_dir"
    )
    outputs = texts(
        "Files of the working folder to keep in the output folder at the end: '*.txt', or 'results/*' for a path; may be "
        "repeated. Only what the command made or changed.",
        "GLOB",
        field="outputs",
    )
    request = switch("With --dry_run: print the request as it would be stored, for those who submit without launch.")
    follow = switch("Show the log until the job ends, and exit as it did.")
    wait = switch("Wait until the job ends, and exit as it did.")


class SubmitOptions(JobOptions, CodeOptions):
    """Flags of `launch -- COMMAND`."""

    spec = text(
        "A job spec to begin with: JSON or TOML, as --dry_run prints it; - is standard input. Flags and COMMAND override.",
        "FILE",
    )
