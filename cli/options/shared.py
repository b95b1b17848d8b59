"""Declare the flags that commands of both tools share, those of a submission, and the command that both tools have. Pure."""

from __future__ import annotations

from bastion.model.durations import seconds

from ..terminal.flags import Command, Options, number, pairs, parsed, switch, text, texts

NONE = "none"


def limit(typed: str, flag: str) -> float | None:
    """Return a time limit in seconds; None for `none`. Raises `UsageError`."""
    return None if typed == NONE else seconds(typed, flag)


class UserOptions(Options):
    """The flag of commands that act as somebody."""

    user_id = text("Your user name; also BASTION_USER. Default: your login name.", "USER", default="", field="user")


class FilterOptions(Options):
    """Flags that select jobs."""

    user = texts("Only jobs of these users: A,B. May be repeated.", "USER,...", short="u")
    project_id = texts("Only jobs of these projects: A,B. May be repeated.", "PROJECT,...", short="p")
    state = texts("Only jobs in these states, ended ones too: PENDING, RUNNING, FAILED.", "STATE,...", short="s")
    since = text("Only jobs submitted after this: 10m, or 2026-01-31T09:30:00Z.", "TIME")
    label = pairs("Only jobs with this label. Repeat the flag for jobs with several labels.", "NAME=VALUE")


class SeveralOptions(FilterOptions, UserOptions):
    """Flags of commands about several jobs."""

    all = switch("Patterns and filters match everybody's jobs, not only yours.")


class CodeOptions(Options):
    """Flags that say how code travels."""

    bundler_type = text(
        "How the code gets to the machines: tar (this folder), git (a pushed commit), none, or an image of this "
        "folder's Dockerfile, built and pushed by docker, by docker to artifactregistry, or by cloudbuild.",
        "TYPE",
        default="tar",
        choices=("tar", "git", "docker", "artifactregistry", "cloudbuild", "none"),
        field="bundle",
    )
    bundler_spec = texts(
        "Setting of the bundler: source=FOLDER. For git: repo=URL, ref=BRANCH, allow_dirty=true, submodules=true."
        " For images: image=HOST/PATH/NAME, dockerfile=PATH, target=STAGE, platform=OS/ARCH, cache_from=NAME, "
        "allow_dirty=true, and build arguments. May be repeated.",
        "KEY=VALUE",
    )


class RequestOptions(UserOptions):
    """Flags that say what a job asks for: of a submission, a rerun and a cluster."""

    project_id = text(
        "Project whose share the job uses; also BASTION_PROJECT. Default: the only one that you belong to.",
        "PROJECT",
        default="",
        field="project",
    )
    resources = texts(
        "Resources of one replica: v4=4,cpu=2. Default: cpu=1. Separate alternatives with /, best first: "
        "h100=8/a100=16.",
        "KIND=N,...",
        field="resources",
    )
    instance_type = text(
        "Machine type of one replica: tpu-v4-32, gpu-h100-8. Of several, the first that is free is used: "
        "tpu-v4-32,tpu-v5p-32.",
        "TYPE,...",
        default="",
        field="instance_type",
    )
    gpus = number(
        "GPUs of one replica, if the fleet has one kind of GPU; otherwise use --resources. 0: none, and no hint "
        "about GPUs.",
        "N",
    )
    num_replicas = number("Number of replicas; they start together or not at all.", "N", default=1, field="replicas")
    priority = number("Priority inside the project: 1 is the highest, 5 the lowest.", "N", default=5, field="priority")
    max_tries = number(
        "Number of tries. Only failures of the job itself use one up.", "N", default=1, field="max_tries"
    )
    crash_guard = switch(
        "Stop retrying after the same error twice, each within two minutes and without a checkpoint; "
        "--no_crash_guard retries all the same.",
        default=True,
        field="crash_guard",
    )
    retry_interval = parsed(
        "Pause between a failure and the next try.", "TIME", seconds, default="60s", field="retry_interval_s"
    )
    grace = parsed("Time between SIGTERM and SIGKILL.", "TIME", seconds, default="30s", field="grace_s")
    time_limit = parsed("Longest time that an attempt may run. Default: no limit.", "TIME", limit, field="time_limit_s")
    finish_timeout = parsed(
        "Time that the other workers of a gang have after the first one has exited with 0; 0: no limit.",
        "TIME",
        seconds,
        default="15m",
        field="finish_timeout_s",
    )
    after = texts(
        "Wait for this job: JOB must succeed, any:JOB must end, fail:JOB must end without success. JOB[17] is a "
        "task of an array. Repeat the flag to wait for several.",
        "JOB",
        field="after",
    )
    begin = text("Earliest start: +2h, 14:00 (the next, in UTC), or 2026-01-31T09:30:00Z.", "TIME", field="begin")
    deadline = text("Stop the job at this time and do not retry it. Same format as --begin.", "TIME", field="deadline")
    job_class = text(
        "Class of the job: urgent, standard or scavenger. An admin must grant urgent to the project.",
        "CLASS",
        default="standard",
        choices=("urgent", "standard", "scavenger"),
        name="class",
        field="job_class",
    )
    max_tier = number(
        "Worst tier of the quota file that the job accepts; 0 is the best.", "N", default=0, field="max_tier"
    )
    label = pairs(
        "Label to find the job by, as team=rl; see launch ls --label. May be repeated.",
        "NAME=VALUE",
        field="labels",
    )
    env = pairs(
        "Environment variable of the command. NAME=secret:S sets it to the secret S of the machine that runs the "
        "job. May be repeated.",
        "NAME=VALUE",
        field="env",
    )
    setup = text(
        "Shell text to run before COMMAND, once on each machine for this code, in a virtual environment that is "
        "kept: 'pip install -r requirements.txt'.",
        "TEXT",
        default="",
        field="setup",
    )
    shell = text(
        "Shell for a command text and for --setup: bash or sh. Default: the setting default_shell, else bash if "
        "the machine has it.",
        "SHELL",
        default="",
        choices=("bash", "sh"),
        field="shell",
    )
    dry_run = switch("Print the job spec, and on standard error the calls that its runner would make. Write nothing.")


class JobOptions(RequestOptions):
    """Flags of a command that submits a job."""

    name = text("Name of the job. Default: your user name and six characters.", "NAME", default="", field="name")
    count = number(
        "Number of tasks of an array: the job runs N times, and BASTION_TASK tells the tasks apart.",
        "N",
        default=1,
        field="count",
    )
    max_parallel = number(
        "Most tasks of an array that hold resources at the same time. Default: as many as fit.",
        "N",
        field="max_parallel",
    )
    literal = switch("Pass the words of COMMAND on unchanged, even if they still have their quotes.")
    output_dir = text(
        "URL or absolute path of the output folder, which all attempts share. Default: a folder in the bucket.",
        "URL",
        default="",
        field="output_dir",
    )
    outputs = texts(
        "Files to copy from the working folder to the output folder at the end: '*.txt', or 'results/*' for a "
        "path. Only files that the command made or changed. May be repeated.",
        "GLOB",
        field="outputs",
    )
    follow = switch("Show the log until the job ends, and exit with the job's exit code.")
    wait = switch("Wait until the job ends, and exit with the job's exit code.")


class SubmitOptions(JobOptions, CodeOptions):
    """Flags of `launch -- COMMAND`."""

    spec = text(
        "Job spec to start from: JSON or TOML, as --dry_run prints it; - reads standard input. Flags and COMMAND "
        "override it.",
        "FILE",
    )
    request = switch(
        "With --dry_run: print the request as it would be stored, for programs that submit without launch."
    )


BUNDLE = Command(
    name="bundle",
    about="Upload this folder's code to the bucket or a registry, and print its identity and its place. No job is "
    "created.",
    module="bastion.cli.common.bundle_command",
    options=CodeOptions,
)
