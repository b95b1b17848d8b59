"""Declare the flags of the commands of `launch`. Pure."""

from __future__ import annotations

from bastion.model.durations import seconds

from ..terminal.flags import ConfirmOptions, Options, decimal, number, parsed, switch, text, texts
from ..terminal.formats import CSV, JSON, TABLE, WIDE, formats
from .shared import CodeOptions, FilterOptions, JobOptions, RequestOptions, SeveralOptions, UserOptions, limit

EVERY_S = 2.0
"""Seconds between two looks of a watching command."""


class TaskOptions(Options):
    """The flag of commands about one job, or about one task of it."""

    task = number("The task of an array; also as 'NAME[3]'.", "N")


class LsOptions(FilterOptions, UserOptions):
    """Flags of `launch ls`."""

    all = switch("Everybody's jobs, and ended ones too.")
    limit = number("The newest N of them.", "N", least=1, short="n")
    watch = decimal("Look again every so many seconds, and show what is new.", "SECONDS", short="w", bare=EVERY_S)
    output = formats(TABLE, WIDE, CSV, JSON)


class LogsOptions(TaskOptions):
    """Flags of `launch logs`."""

    follow = switch("Go on until the job ends; --no_follow prints what is there.", default=True)
    tail = number("The last N lines of each worker and on. Default: all; 1000 on a terminal.", "N", least=0)
    since = text("Begin with what was stored after this: 10m, or 2026-01-31T09:30:00Z.", "TIME")
    worker = text("Only these workers: 0,3-7.", "LIST")
    attempt = number("Only this attempt, from 0. Default: the newest.", "N")
    grep = text("Only lines in which this regular expression is found.", "REGEX")
    failed = switch("Of an array: only the tasks that failed.")
    provisioning = switch("The bastion's side: what it did for the job, and why.")


class SshOptions(TaskOptions):
    """Flags of `launch ssh`."""

    worker = number("The worker, from 0.", "N", default=0)
    forward = texts(
        "Lead a port of this computer to one of the machine: 8080, or 8080:9090 where they differ. May be repeated.",
        "PORT[:PORT]",
    )
    print = switch("Print the command that leads there, and run nothing.")


class OutputsOptions(TaskOptions, UserOptions, ConfirmOptions):
    """Flags of `launch outputs`."""

    fetch = text("Copy them into this folder; a file that is there is replaced.", "DIR")
    delete = switch("Remove them, checkpoints too.")
    yes = ConfirmOptions.yes.but(about="Remove them without being asked.")


class WhyOptions(TaskOptions):
    """Flags of `launch why`."""

    at = text("As it was then: 2h ago, 03:00 (of the last 24 hours, UTC), or 2026-01-31T09:30:00Z.", "TIME")


class WaitOptions(TaskOptions):
    """Flags of `launch wait`."""

    timeout = parsed("Stop waiting after this long, with exit code 101: 90s, 30m, 1h.", "TIME", seconds)


class StopOptions(SeveralOptions, TaskOptions, ConfirmOptions):
    """Flags of `launch stop`."""

    yes = ConfirmOptions.yes.but(about="Stop several without being asked.")
    wait = switch("Wait until they have ended.")


class UpdateOptions(UserOptions):
    """Flags of `launch update`. A flag that is not given leaves its field as it is."""

    priority = JobOptions.priority.unset()
    max_tries = JobOptions.max_tries.unset()
    crash_guard = JobOptions.crash_guard.unset()
    retry_interval = JobOptions.retry_interval.unset()
    grace = JobOptions.grace.unset()
    finish_timeout = JobOptions.finish_timeout.unset()
    time_limit = parsed(
        "The longest that an attempt may run, or none. Not while one runs.", "TIME", limit, field="time_limit_s"
    )
    after = texts("The jobs to wait for, in place of those before; or none. Not while it runs.", "JOB", field="after")
    begin = text("Do not start before, or none. Not while it runs.", "TIME", field="begin")
    deadline = text("What has not ended by then is ended; or none.", "TIME", field="deadline")
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
        "URL or folder that stays. Default: one that is removed at the end.", "URL", default="", field="output_dir"
    )


class RerunOptions(JobOptions):
    """Flags of `launch rerun`."""

    resume = switch(
        "Use the job's own output folder, and go on from the newest checkpoint there. The job must have ended."
    )


class RequeueOptions(RerunOptions):
    """Flags of `launch requeue`."""

    resume = RerunOptions.resume.but(default=True)


class ClusterOptions(RequestOptions, CodeOptions):
    """Flags of `launch cluster`."""

    max_tries = JobOptions.max_tries.but(default=3)
    grace = JobOptions.grace.but(default="60s")
    bundler_type = CodeOptions.bundler_type.but(default="none")
    wait = switch("With down: wait until it has ended.")
