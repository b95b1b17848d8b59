"""Describe the `launch` commands for code as data: submit it, run it here, run it again, compare it. Pure."""

from __future__ import annotations

from dataclasses import replace

from ...terminal.flags import Action, Command, Flag

USER = Flag("user_id", "Who you are; also BASTION_USER. The default is your login name.", "USER")

WHEN = (
    Flag(
        "after",
        "Start when this job has succeeded; any:JOB when it has ended, fail:JOB when it has ended without success. May be "
        "repeated: all of them. A task of an array is JOB[17].",
        "JOB",
        kind=list,
    ),
    Flag("begin", "Do not start before: +2h, 14:00 (the next, in UTC), or 2026-01-31T09:30:00Z.", "TIME"),
    Flag("deadline", "What has not ended by then is ended, and is not tried again. As of --begin.", "TIME"),
    Flag("max_parallel", "Tasks of an array that hold resources at once. Default: all that fit.", "N", kind=int),
    Flag(
        "class",
        "urgent, standard or scavenger: an admin grants a project urgent.",
        "CLASS",
        default="standard",
        choices=("urgent", "standard", "scavenger"),
    ),
    Flag("max_tier", "The worst tier of the quota file that will do; 0 is the best.", "N", kind=int, default=0),
)
"""Flags that say when and where a job may start."""

SHELL = Flag(
    "shell",
    "Shell of a command text and of --setup: bash or sh. Default: the setting default_shell, else bash where there is one.",
    "SHELL",
    choices=("bash", "sh"),
)
LITERAL = Flag(
    "literal", "Pass the words of COMMAND on even if they still have their quotes.", kind=bool, default=False
)

LAUNCH = Command(
    name="",
    about="Submit a job: bundle this folder's code, and have COMMAND run on the fleet. One word after -- that holds "
    "spaces is a text for the shell; several words are run as they are. The last line printed is the job's name.",
    module="bastion.cli.launch.submit",
    takes_command=True,
    flags=(
        Flag("name", "Name of the job. Default: your user name and six characters.", "NAME"),
        Flag(
            "project_id",
            "Project that pays; also BASTION_PROJECT. Default: the only one that you belong to.",
            "PROJECT",
        ),
        USER,
        Flag(
            "resources",
            "What one replica needs: v4=4,cpu=2. Default: cpu=1. Choices are parted by /, the best first: h100=8/a100=16.",
            "KIND=N,...",
            kind=list,
        ),
        Flag(
            "instance_type",
            "What one replica is: tpu-v4-32, gpu-h100-8. Of several it gets the first that is free: tpu-v4-32,tpu-v5p-32.",
            "TYPE,...",
        ),
        Flag(
            "gpus",
            "GPUs of one replica, where the fleet has one kind of them; else --resources says which. 0: none, and no hint.",
            "N",
            kind=int,
        ),
        Flag("num_replicas", "Replicas that start together or not at all.", "N", kind=int, default=1),
        Flag("count", "Tasks of an array: the same job N times, told apart by BASTION_TASK.", "N", kind=int, default=1),
        Flag("priority", "1 is the highest, 5 the lowest.", "N", kind=int, default=5),
        Flag("max_tries", "How often it may be tried; only its own failures count.", "N", kind=int, default=1),
        Flag(
            "crash_guard",
            "Try no more after the same error twice within two minutes each and without a checkpoint; --no_crash_guard tries on.",
            kind=bool,
            default=True,
        ),
        Flag("retry_interval", "Pause before the next try.", "TIME", default="60s"),
        Flag("grace", "Time between SIGTERM and SIGKILL.", "TIME", default="30s"),
        Flag("time_limit", "The longest that an attempt may run. Default: no limit.", "TIME"),
        Flag(
            "finish_timeout",
            "Time that the others of a gang have once its first worker has ended with 0; 0: for ever.",
            "TIME",
            default="15m",
        ),
        *WHEN,
        LITERAL,
        Flag(
            "env",
            "Environment of the command; may be repeated. NAME=secret:S is the secret S of the machine that runs it.",
            "NAME=VALUE",
            kind=list,
        ),
        Flag("output_dir", "URL or absolute path that outlives attempts. Default: in the bucket.", "URL"),
        Flag(
            "outputs",
            "Files of the working folder to keep in the output folder at the end: '*.txt', or 'results/*' for a path; may be "
            "repeated. Only what the command made or changed.",
            "GLOB",
            kind=list,
        ),
        Flag(
            "bundler_type",
            "How the code travels: tar (this folder), git (a pushed commit), an image of this folder's Dockerfile, built and "
            "pushed by docker, by docker to artifactregistry, or by cloudbuild, or none (no code).",
            "TYPE",
            default="tar",
            choices=("tar", "git", "docker", "artifactregistry", "cloudbuild", "none"),
        ),
        Flag(
            "bundler_spec",
            "Settings of the bundler; may be repeated: source=FOLDER. Of git: repo=URL, ref=BRANCH, allow_dirty=true, "
            "submodules=true. Of images: image=HOST/PATH/NAME, dockerfile=PATH, target=STAGE, platform=OS/ARCH, cache_from=NAME, "
            "allow_dirty=true, and build arguments.",
            "KEY=VALUE",
            kind=list,
        ),
        Flag(
            "setup",
            "Shell text that is run before COMMAND, once for this code on each machine, in a virtual environment that is "
            "kept: 'pip install -r requirements.txt'.",
            "TEXT",
        ),
        SHELL,
        Flag(
            "spec",
            "A job spec to begin with: JSON or TOML, as --dry_run prints it; - is standard input. Flags and COMMAND override.",
            "FILE",
        ),
        Flag(
            "dry_run",
            "Print the job spec, and to the error stream what its runner would ask its engine for; write nothing.",
            kind=bool,
            default=False,
        ),
        Flag(
            "request",
            "With --dry_run: print the request as it would be stored, for those who submit without launch.",
            kind=bool,
            default=False,
        ),
        Flag("follow", "Show the log until the job ends, and exit as it did.", kind=bool, default=False),
        Flag("wait", "Wait until the job ends, and exit as it did.", kind=bool, default=False),
    ),
)

BUNDLE = Command(
    name="bundle",
    about="Put this folder's code where machines find it, the bucket or a registry, and print what it is known by and where "
    "it is. No job is made.",
    module="bastion.cli.common.bundle_command",
    flags=tuple(LAUNCH.flag(name) for name in ("bundler_type", "bundler_spec")),
)
"""A command of both tools."""

_NOT_AGAIN = frozenset({"bundler_type", "bundler_spec", "spec"})
"""Flags of a submission that do not apply to a job that is run again: its code and its spec exist already."""

_AGAIN = tuple(flag for flag in LAUNCH.flags if flag.name not in _NOT_AGAIN)
_RESUME = Flag(
    "resume",
    "Use the job's own output folder, and go on from the newest checkpoint there. The job must have ended.",
    kind=bool,
    default=False,
)

CODE = (
    Command(
        name="run",
        about="Run COMMAND here and now, as the fleet would: the code bundled, the same variables, and the exit code of "
        "a job that ended so. No bastion and no bucket is asked. Ctrl-C stops it with its grace; another one kills it.",
        module="bastion.cli.launch.run",
        takes_command=True,
        flags=(
            *(
                LAUNCH.flag(name)
                for name in (
                    "name",
                    "num_replicas",
                    "grace",
                    "time_limit",
                    "literal",
                    "env",
                    "setup",
                    "shell",
                    "bundler_type",
                    "bundler_spec",
                    "outputs",
                )
            ),
            Flag("output_dir", "URL or folder that stays. Default: one that is removed at the end.", "URL"),
            USER,
        ),
    ),
    Command(
        name="rerun",
        about="Submit a job once more, with the code that it had. Flags, and a COMMAND after --, say what is otherwise; "
        "--env adds variables. Outputs go to a new folder, unless the job's user had named one.",
        module="bastion.cli.launch.rerun",
        words="JOB",
        least=1,
        most=1,
        takes_command=True,
        flags=(_RESUME, *_AGAIN),
    ),
    Command(
        name="requeue",
        about="Submit a job that has ended once more, and go on from its newest checkpoint: launch rerun --resume.",
        module="bastion.cli.launch.rerun",
        words="JOB",
        least=1,
        most=1,
        takes_command=True,
        flags=(replace(_RESUME, default=True), *_AGAIN),
    ),
    Command(
        name="diff",
        about="What differs between two jobs: what was asked for, the files of the code, and what they ran in.",
        module="bastion.cli.launch.diff",
        words="JOB JOB",
        least=2,
        most=2,
    ),
    BUNDLE,
)
"""The commands besides the submission itself."""

CLUSTER = Command(
    name="cluster",
    about="A Ray cluster as a job: a gang whose worker 0 is the head. It holds its share of the quota until it is taken "
    "down, and anybody whom the network lets through may work on it. Its machines need Ray: in an image, or by --setup.",
    module="bastion.cli.launch.cluster",
    actions=(
        Action("up", "Submit it: --num_replicas nodes of --resources each.", "NAME", 1, 1),
        Action("down", "Ask for its end, and for that of all that runs on it.", "NAME", 1, 1),
        Action("status", "One line: where it stands, and its dashboard.", "NAME", 1, 1),
        Action(
            "details", "What it holds, and the addresses of its dashboard, for ray.init, and of its head.", "NAME", 1, 1
        ),
    ),
    flags=(
        *(
            LAUNCH.flag(name)
            for name in (
                "project_id",
                "resources",
                "instance_type",
                "gpus",
                "num_replicas",
                "priority",
                "retry_interval",
                "crash_guard",
            )
        ),
        replace(LAUNCH.flag("max_tries"), default=3),
        replace(LAUNCH.flag("grace"), default="60s"),
        *(
            LAUNCH.flag(name)
            for name in (
                "time_limit",
                "finish_timeout",
                "after",
                "begin",
                "deadline",
                "class",
                "max_tier",
                "env",
                "setup",
                "shell",
            )
        ),
        replace(LAUNCH.flag("bundler_type"), default="none"),
        LAUNCH.flag("bundler_spec"),
        LAUNCH.flag("dry_run"),
        Flag("wait", "With down: wait until it has ended.", kind=bool, default=False),
        USER,
    ),
)
"""The command for a job that stays: a Ray cluster."""
