"""Describe the tool `launch` as data: its commands and their flags. Pure."""

from __future__ import annotations

from dataclasses import replace

from ..terminal.flags import Command, Flag, Tool, completion
from ..terminal.foreign_words import LAUNCH_WORDS
from ..terminal.formats import CSV, JSON, TABLE, WIDE
from ..terminal.formats import flag as format_flag
from .parts.submit_flags import CLUSTER, CODE, LAUNCH, LITERAL, USER

EVERY_S = 2.0
"""Seconds between two looks of a watching command."""

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

JOBS_MAX = 10_000  # the most jobs that one command line may name


def _unset(command: Command, name: str) -> Flag:
    """Return another command's flag without its default: a value that is not set stays as it is."""
    return replace(command.flag(name), default=None)


def _about_one(name: str, module: str, about: str, *flags: Flag) -> Command:
    """Return a command about one job, or about one task of it."""
    return Command(name=name, about=about, module=module, words="JOB", least=1, most=1, flags=(*flags, _TASK))


TOOL = Tool(
    name="launch",
    about=LAUNCH.about,
    action=LAUNCH,
    foreign=LAUNCH_WORDS,
    commands=(
        Command(
            name="ls",
            about="Your jobs that have not ended, and why those wait that wait.",
            module="bastion.cli.launch.ls",
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
                USER,
            ),
        ),
        _about_one(
            "logs",
            "bastion.cli.launch.logs",
            "What a job prints: until it ends if it is live. Ctrl-C leaves it running. Lines of an array begin with "
            "the number of their task: [3].",
            Flag("follow", "Go on until the job ends; --no_follow prints what is there.", kind=bool, default=True),
            Flag("tail", "The last N lines of each worker and on. Default: all; 1000 on a terminal.", "N", kind=int),
            Flag("since", "Begin with what was stored after this: 10m, or 2026-01-31T09:30:00Z.", "TIME"),
            Flag("worker", "Only these workers: 0,3-7.", "LIST"),
            Flag("attempt", "Only this attempt, from 0. Default: the newest.", "N", kind=int),
            Flag("grep", "Only lines in which this regular expression is found.", "REGEX"),
            Flag("failed", "Of an array: only the tasks that failed.", kind=bool, default=False),
            Flag("provisioning", "The bastion's side: what it did for the job, and why.", kind=bool, default=False),
        ),
        Command(
            name="ssh",
            about="A shell, or a COMMAND, on the machine of a job's worker, through the cloud's own tunnel.",
            module="bastion.cli.launch.ssh",
            words="JOB",
            least=1,
            most=1,
            takes_command=True,
            flags=(
                Flag("worker", "The worker, from 0.", "N", kind=int, default=0),
                Flag(
                    "forward",
                    "Lead a port of this computer to one of the machine: 8080, or 8080:9090 where they differ. May be repeated.",
                    "PORT[:PORT]",
                    kind=list,
                ),
                Flag("print", "Print the command that leads there, and run nothing.", kind=bool, default=False),
                _TASK,
            ),
        ),
        _about_one(
            "outputs",
            "bastion.cli.launch.outputs",
            "List, copy or remove the files in a job's output folder, wherever it is.",
            Flag("fetch", "Copy them into this folder; a file that is there is replaced.", "DIR"),
            Flag("delete", "Remove them, checkpoints too.", kind=bool, default=False),
            Flag("yes", "Remove them without being asked.", kind=bool, default=False),
            USER,
        ),
        _about_one(
            "why",
            "bastion.cli.launch.why",
            "Why a job is where it is, and what happened to it. With --at: where it was then, and why.",
            Flag("at", "As it was then: 2h ago, 03:00 (of the last 24 hours, UTC), or 2026-01-31T09:30:00Z.", "TIME"),
        ),
        _about_one(
            "history",
            "bastion.cli.launch.history",
            "Every event of a job, one line each: who did what when, and what it led to.",
        ),
        _about_one("wait", "bastion.cli.launch.wait", "Wait until a job ends, and exit as it did.", _TIMEOUT),
        Command(
            name="stop",
            about="Ask for a job's end. It gets SIGTERM, its grace, then SIGKILL. Several are named by words, patterns like "
            "'sweep-*' and filters, and you are asked first.",
            module="bastion.cli.launch.stop",
            words="[JOB...]",
            most=JOBS_MAX,
            flags=(
                *_SEVERAL,
                Flag("yes", "Stop several without being asked.", kind=bool, default=False),
                Flag("wait", "Wait until they have ended.", kind=bool, default=False),
                _TASK,
                USER,
            ),
        ),
        Command(
            name="hold",
            about="Start nothing more of these jobs until they are released. What runs goes on, and is not started again "
            "after a preemption or a failure.",
            module="bastion.cli.launch.hold",
            words="[JOB...]",
            most=JOBS_MAX,
            flags=(*_SEVERAL, USER),
        ),
        Command(
            name="release",
            about="Let held jobs start again, each in its old place. What an admin holds, an admin releases.",
            module="bastion.cli.launch.release",
            words="[JOB...]",
            most=JOBS_MAX,
            flags=(*_SEVERAL, USER),
        ),
        Command(
            name="top",
            about="Give a job the best place that its user's pending jobs of its project and priority have. "
            "Nobody else's place changes.",
            module="bastion.cli.launch.top",
            words="JOB",
            least=1,
            most=1,
            flags=(USER,),
        ),
        Command(
            name="update",
            about="Change what a job asks for. A COMMAND is its next attempt: what runs gets SIGTERM and its grace, and "
            "the next attempt begins at once on what it held, with this folder's code.",
            module="bastion.cli.launch.update",
            words="JOB",
            least=1,
            most=1,
            takes_command=True,
            flags=(
                *(
                    _unset(LAUNCH, name)
                    for name in ("priority", "max_tries", "crash_guard", "retry_interval", "grace", "finish_timeout")
                ),
                Flag("time_limit", "The longest that an attempt may run, or none. Not while one runs.", "TIME"),
                Flag(
                    "after",
                    "The jobs to wait for, in place of those before; or none. Not while it runs.",
                    "JOB",
                    kind=list,
                ),
                Flag("begin", "Do not start before, or none. Not while it runs.", "TIME"),
                Flag("deadline", "What has not ended by then is ended; or none.", "TIME"),
                *(_unset(LAUNCH, name) for name in ("max_parallel", "class", "max_tier")),
                LITERAL,
                *(_unset(LAUNCH, name) for name in ("bundler_type", "bundler_spec")),
                USER,
            ),
        ),
        *CODE,
        CLUSTER,
        Command(
            name="show",
            about="All that is known of a job, with its spec.",
            module="bastion.cli.launch.show",
            words="JOB",
            least=1,
            most=1,
        ),
        completion("launch", "bastion.cli.launch.completion"),
    ),
)
