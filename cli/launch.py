"""The tool `launch` as data: its commands and their flags. Pure."""

from __future__ import annotations

from dataclasses import replace

from cli.flags import Command, Flag, Tool, completion
from cli.formats import CSV, JSON, TABLE, WIDE
from cli.formats import flag as format_flag

EVERY_S = 2.0
"""Between two looks of those who watch."""

_USER = Flag("user_id", "Who you are; also BASTION_USER. The default is your login name.", "USER")
_TASK = Flag("task", "The task of an array; also as 'NAME[3]'.", "N", kind=int)
_FILTER = (
    Flag("user", "Jobs of these users; several as A,B or by repeating it.", "USER,...", kind=list, short="u"),
    Flag("project_id", "Jobs of these projects.", "PROJECT,...", kind=list, short="p"),
    Flag("state", "Jobs in these states, ended ones too: PENDING, RUNNING, FAILED.", "STATE,...", kind=list, short="s"),
    Flag("since", "Jobs submitted since then: 10m, or 2026-01-31T09:30:00Z.", "TIME"),
)
_SEVERAL = (
    Flag("all", "Patterns and filters mean everybody's jobs, not yours only.", kind=bool, default=False),
    *_FILTER,
)
_TIMEOUT = Flag("timeout", "Stop waiting after this long, with exit code 101: 90s, 30m, 1h.", "TIME")

JOBS_MAX = 10_000  # that one command line may name

_LAUNCH = Command(
    name="",
    about="Submit a job: bundle this folder's code, and have COMMAND run on the fleet. One word after -- that holds "
    "spaces is a text for the shell; several words are run as they are. The last line printed is the job's name.",
    module="cli.launch_submit",
    takes_command=True,
    flags=(
        Flag("name", "Name of the job. Default: your user name and six characters.", "NAME"),
        Flag(
            "project_id",
            "Project that pays; also BASTION_PROJECT. Default: the only one that you belong to.",
            "PROJECT",
        ),
        _USER,
        Flag("resources", "What one replica needs: v4=4,cpu=2. Default: cpu=1.", "KIND=N,...", kind=list),
        Flag("instance_type", "What one replica is: tpu-v4-32, gpu-h100-8.", "TYPE"),
        Flag("num_replicas", "Replicas that start together or not at all.", "N", kind=int, default=1),
        Flag("count", "Tasks of an array: the same job N times, told apart by BASTION_TASK.", "N", kind=int, default=1),
        Flag("priority", "1 is the highest, 5 the lowest.", "N", kind=int, default=5),
        Flag("max_tries", "How often it may be tried; only its own failures count.", "N", kind=int, default=1),
        Flag("retry_interval", "Pause before the next try.", "TIME", default="60s"),
        Flag("grace", "Time between SIGTERM and SIGKILL.", "TIME", default="30s"),
        Flag("time_limit", "The longest that an attempt may run. Default: no limit.", "TIME"),
        Flag("env", "Environment of the command; may be repeated.", "NAME=VALUE", kind=list),
        Flag("output_dir", "URL or absolute path that outlives attempts. Default: in the bucket.", "URL"),
        Flag(
            "bundler_type",
            "How the code travels: tar (this folder), git (a pushed commit) or none (no code).",
            "TYPE",
            default="tar",
            choices=("tar", "git", "none"),
        ),
        Flag(
            "bundler_spec",
            "Settings of the bundler; may be repeated: source=FOLDER. Of git: repo=URL, ref=BRANCH, allow_dirty=true, "
            "submodules=true.",
            "KEY=VALUE",
            kind=list,
        ),
        Flag(
            "setup",
            "Shell text that is run before COMMAND, once for this code on each machine, in a virtual environment that is "
            "kept: 'pip install -r requirements.txt'.",
            "TEXT",
        ),
        Flag(
            "spec",
            "A job spec to begin with: JSON or TOML, as --dry_run prints it; - is standard input. Flags and COMMAND override.",
            "FILE",
        ),
        Flag("dry_run", "Print the job spec and write nothing.", kind=bool, default=False),
        Flag("follow", "Show the log until the job ends, and exit as it did.", kind=bool, default=False),
        Flag("wait", "Wait until the job ends, and exit as it did.", kind=bool, default=False),
    ),
)


def _unset(command: Command, name: str) -> Flag:
    """The flag of another command, without its default: what is not said stays as it is."""
    return replace(command.flag(name), default=None)


_NOT_AGAIN = frozenset({"bundler_type", "bundler_spec", "spec"})
"""Flags of a submission that a job which is run again has behind it."""


def _about_one(name: str, about: str) -> Command:
    """A command that tells about one job, or one task of it."""
    return Command(name=name, about=about, module=f"cli.launch_{name}", words="JOB", least=1, most=1, flags=(_TASK,))


TOOL = Tool(
    name="launch",
    about=_LAUNCH.about,
    action=_LAUNCH,
    commands=(
        Command(
            name="ls",
            about="Your jobs that have not ended, and why those wait that wait.",
            module="cli.launch_ls",
            flags=(
                Flag("all", "Everybody's jobs, and ended ones too.", kind=bool, default=False),
                *_FILTER,
                Flag("limit", "The newest N of them.", "N", kind=int, short="n"),
                Flag(
                    "watch",
                    "Look again every so many seconds, and show what is new.",
                    "SECONDS",
                    kind=float,
                    short="w",
                    bare=EVERY_S,
                ),
                format_flag(TABLE, WIDE, CSV, JSON),
                _USER,
            ),
        ),
        Command(
            name="logs",
            about="What a job prints: until it ends if it is live. Ctrl-C leaves it running.",
            module="cli.launch_logs",
            words="JOB",
            least=1,
            most=1,
            flags=(
                Flag("follow", "Go on until the job ends; --no_follow prints what is there.", kind=bool, default=True),
                Flag(
                    "tail", "The last N lines of each worker and on. Default: all; 1000 on a terminal.", "N", kind=int
                ),
                Flag("since", "Begin with what was stored after this: 10m, or 2026-01-31T09:30:00Z.", "TIME"),
                Flag("worker", "Only these workers: 0,3-7.", "LIST"),
                Flag("attempt", "Only this attempt, from 0. Default: the newest.", "N", kind=int),
                Flag("grep", "Only lines in which this regular expression is found.", "REGEX"),
                Flag("provisioning", "The bastion's side: what it did for the job, and why.", kind=bool, default=False),
                _TASK,
            ),
        ),
        Command(
            name="outputs",
            about="The files in a job's output folder, wherever it is, and copies of them.",
            module="cli.launch_outputs",
            words="JOB",
            least=1,
            most=1,
            flags=(
                Flag("fetch", "Copy them into this folder; a file that is there is replaced.", "DIR"),
                _TASK,
            ),
        ),
        _about_one("why", "Why a job is where it is, and what happened to it."),
        _about_one("history", "Every event of a job, one line each: who did what when, and what it led to."),
        Command(
            name="wait",
            about="Wait until a job ends, and exit as it did.",
            module="cli.launch_wait",
            words="JOB",
            least=1,
            most=1,
            flags=(_TIMEOUT, _TASK),
        ),
        Command(
            name="stop",
            about="Ask for a job's end. It gets SIGTERM, its grace, then SIGKILL. Several are named by words, patterns like "
            "'sweep-*' and filters, and you are asked first.",
            module="cli.launch_stop",
            words="[JOB...]",
            most=JOBS_MAX,
            flags=(
                *_SEVERAL,
                Flag("yes", "Stop several without being asked.", kind=bool, default=False),
                Flag("wait", "Wait until they have ended.", kind=bool, default=False),
                _TASK,
                _USER,
            ),
        ),
        Command(
            name="hold",
            about="Start nothing more of these jobs until they are released. What runs goes on, and is not started again "
            "after a preemption or a failure.",
            module="cli.launch_hold",
            words="[JOB...]",
            most=JOBS_MAX,
            flags=(*_SEVERAL, _USER),
        ),
        Command(
            name="release",
            about="Let held jobs start again, each in its old place. What an admin holds, an admin releases.",
            module="cli.launch_release",
            words="[JOB...]",
            most=JOBS_MAX,
            flags=(*_SEVERAL, _USER),
        ),
        Command(
            name="top",
            about="Give a job the best place that its user's pending jobs of its project and priority have. "
            "Nobody else's place changes.",
            module="cli.launch_top",
            words="JOB",
            least=1,
            most=1,
            flags=(_USER,),
        ),
        Command(
            name="update",
            about="Change what a job asks for. A COMMAND is its next attempt: what runs gets SIGTERM and its grace, and "
            "the next attempt begins at once on what it held, with this folder's code.",
            module="cli.launch_update",
            words="JOB",
            least=1,
            most=1,
            takes_command=True,
            flags=(
                *(_unset(_LAUNCH, name) for name in ("priority", "max_tries", "retry_interval", "grace")),
                Flag("time_limit", "The longest that an attempt may run, or none. Not while one runs.", "TIME"),
                *(_unset(_LAUNCH, name) for name in ("bundler_type", "bundler_spec")),
                _USER,
            ),
        ),
        Command(
            name="run",
            about="Run COMMAND here and now, as the fleet would: the code bundled, the same variables, and the exit code of "
            "a job that ended so. No bastion and no bucket is asked. Ctrl-C stops it with its grace; another one kills it.",
            module="cli.launch_run",
            takes_command=True,
            flags=(
                *(
                    _LAUNCH.flag(name)
                    for name in (
                        "name",
                        "num_replicas",
                        "grace",
                        "time_limit",
                        "env",
                        "setup",
                        "bundler_type",
                        "bundler_spec",
                    )
                ),
                Flag("output_dir", "URL or folder that stays. Default: one that is removed at the end.", "URL"),
                _USER,
            ),
        ),
        Command(
            name="rerun",
            about="Submit a job once more, with the code that it had. Flags, and a COMMAND after --, say what is otherwise; "
            "--env adds variables. Outputs go to a new folder, unless the job's user had named one.",
            module="cli.launch_rerun",
            words="JOB",
            least=1,
            most=1,
            takes_command=True,
            flags=tuple(flag for flag in _LAUNCH.flags if flag.name not in _NOT_AGAIN),
        ),
        Command(
            name="diff",
            about="What differs between two jobs: what was asked for, the files of the code, and what they ran in.",
            module="cli.launch_diff",
            words="JOB JOB",
            least=2,
            most=2,
        ),
        Command(
            name="bundle",
            about="Put this folder's code into the bucket, and print what it is known by and where it is. No job is made.",
            module="cli.launch_bundle",
            flags=tuple(_LAUNCH.flag(name) for name in ("bundler_type", "bundler_spec")),
        ),
        Command(
            name="show",
            about="All that is known of a job, with its spec.",
            module="cli.launch_show",
            words="JOB",
            least=1,
            most=1,
        ),
        completion("launch"),
    ),
)
