"""What `launch` does with code, as data: submit it, run it here, run it again, compare it. Pure."""

from __future__ import annotations

from cli.flags import Command, Flag

USER = Flag("user_id", "Who you are; also BASTION_USER. The default is your login name.", "USER")

LAUNCH = Command(
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
        USER,
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

_NOT_AGAIN = frozenset({"bundler_type", "bundler_spec", "spec"})
"""Flags of a submission that a job which is run again has behind it."""

CODE = (
    Command(
        name="run",
        about="Run COMMAND here and now, as the fleet would: the code bundled, the same variables, and the exit code of "
        "a job that ended so. No bastion and no bucket is asked. Ctrl-C stops it with its grace; another one kills it.",
        module="cli.launch_run",
        takes_command=True,
        flags=(
            *(
                LAUNCH.flag(name)
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
            USER,
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
        flags=tuple(flag for flag in LAUNCH.flags if flag.name not in _NOT_AGAIN),
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
        flags=tuple(LAUNCH.flag(name) for name in ("bundler_type", "bundler_spec")),
    ),
)
"""The commands beside the submission itself."""
