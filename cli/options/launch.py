"""Declare the flags of the commands of `launch`. Pure."""

from __future__ import annotations

from bastion.model.durations import seconds

from ..terminal.flags import ConfirmOptions, Options, decimal, number, parsed, switch, text, texts
from ..terminal.table import CSV, JSON, TABLE, WIDE, formats
from .shared import CodeOptions, FilterOptions, JobOptions, RequestOptions, SeveralOptions, UserOptions, limit

EVERY_S = 2.0
"""Seconds between two looks of a watching command."""


class TaskOptions(Options):
    """The flag of commands about one job, or about one task of it."""

    task = number("Task of an array; also as 'NAME[3]'.", "N")


class LsOptions(FilterOptions, UserOptions):
    """Flags of `launch ls`."""

    all = switch("Include everybody's jobs, and ended ones.")
    limit = number("Only the newest N jobs.", "N", least=1, short="n")
    watch = decimal("Look again at this interval, and show what has changed.", "SECONDS", short="w", bare=EVERY_S)
    output = formats(TABLE, WIDE, CSV, JSON)


class LogsOptions(TaskOptions):
    """Flags of `launch logs`."""

    follow = switch("Continue until the job ends; --no_follow prints what is there and exits.", default=True)
    tail = number("Start with the last N lines of each worker. Default: all; 1000 on a terminal.", "N", least=0)
    since = text("Start with what was stored after this: 10m, or 2026-01-31T09:30:00Z.", "TIME")
    worker = text("Only these workers: 0,3-7.", "LIST")
    attempt = number("Only this attempt, from 0. Default: the newest.", "N")
    grep = text("Only lines that match this regular expression.", "REGEX")
    failed = switch("Only the tasks of an array that failed.")
    provisioning = switch("Show what the bastion did for the job, and why, instead of the job's output.")


class SshOptions(TaskOptions):
    """Flags of `launch ssh`."""

    worker = number("Number of the worker, from 0.", "N", default=0)
    forward = texts(
        "Forward a port of this computer to a port of the machine: 8080, or 8080:9090 if they differ. May be repeated.",
        "PORT[:PORT]",
    )
    print = switch("Print the command that would connect, and run nothing.")


class OutputsOptions(TaskOptions, UserOptions, ConfirmOptions):
    """Flags of `launch outputs`."""

    fetch = text("Copy the files into this folder; a file with the same name is replaced.", "DIR")
    delete = switch("Remove the files, checkpoints too.")
    yes = ConfirmOptions.yes.but(about="Remove the files without asking.")


class WhyOptions(TaskOptions):
    """Flags of `launch why`."""

    at = text("Time to look at: 2h ago, 03:00 (in the last 24 hours, UTC), or 2026-01-31T09:30:00Z.", "TIME")


class WaitOptions(TaskOptions):
    """Flags of `launch wait`."""

    timeout = parsed("Stop waiting after this long, with exit code 101: 90s, 30m, 1h.", "TIME", seconds)


class StopOptions(SeveralOptions, TaskOptions, ConfirmOptions):
    """Flags of `launch stop`."""

    yes = ConfirmOptions.yes.but(about="Stop several jobs without asking.")
    wait = switch("Wait until the jobs have ended.")


class UpdateOptions(UserOptions):
    """Flags of `launch update`. A flag that is not given leaves its field as it is."""

    priority = JobOptions.priority.unset()
    max_tries = JobOptions.max_tries.unset()
    crash_guard = JobOptions.crash_guard.unset()
    retry_interval = JobOptions.retry_interval.unset()
    grace = JobOptions.grace.unset()
    finish_timeout = JobOptions.finish_timeout.unset()
    time_limit = parsed(
        "Longest time that an attempt may run, or none. Not while an attempt runs.", "TIME", limit, field="time_limit_s"
    )
    after = texts(
        "Jobs to wait for, in place of the earlier ones; or none. Not while the job runs.", "JOB", field="after"
    )
    begin = text("Earliest start, or none. Not while the job runs.", "TIME", field="begin")
    deadline = text("Stop the job at this time and do not retry it; or none.", "TIME", field="deadline")
    max_parallel = JobOptions.max_parallel
    job_class = JobOptions.job_class.unset()
    max_tier = JobOptions.max_tier.unset()
    literal = JobOptions.literal
    bundler_type = CodeOptions.bundler_type.unset()
    bundler_spec = CodeOptions.bundler_spec


class RunOptions(CodeOptions, UserOptions):
    """Flags of `launch run`."""

    name = JobOptions.name
    num_replicas = JobOptions.num_replicas
    grace = JobOptions.grace
    time_limit = JobOptions.time_limit
    literal = JobOptions.literal
    env = JobOptions.env
    setup = JobOptions.setup
    shell = JobOptions.shell
    outputs = JobOptions.outputs
    output_dir = text(
        "URL or folder to keep the output in. Default: a folder that is removed at the end.",
        "URL",
        default="",
        field="output_dir",
    )


class RerunOptions(JobOptions):
    """Flags of `launch rerun`."""

    resume = switch(
        "Use the job's output folder, and continue from the newest checkpoint there. The job must have ended."
    )


class RequeueOptions(RerunOptions):
    """Flags of `launch requeue`."""

    resume = RerunOptions.resume.but(default=True)


class ClusterOptions(RequestOptions, CodeOptions):
    """Flags of `launch cluster`."""

    max_tries = JobOptions.max_tries.but(default=3)
    grace = JobOptions.grace.but(default="60s")
    bundler_type = CodeOptions.bundler_type.but(default="none")
    wait = switch("With down: wait until the cluster has ended.")
