"""Describe the tool `launch` as data: its commands. Pure."""

from __future__ import annotations

from ..common.tool import BUNDLE
from ..options.launch import (
    ClusterOptions,
    LogsOptions,
    LsOptions,
    OutputsOptions,
    RequeueOptions,
    RerunOptions,
    RunOptions,
    SshOptions,
    StopOptions,
    TaskOptions,
    UpdateOptions,
    WaitOptions,
    WhyOptions,
)
from ..options.shared import SeveralOptions, SubmitOptions, UserOptions
from ..terminal.flags import Action, Command, Options, Tool, completion
from ..terminal.foreign_words import LAUNCH_WORDS

JOBS_MAX = 10_000  # the most jobs that one command line may name


def _about_one(name: str, about: str, options: type[Options], *, takes_command: bool = False) -> Command:
    """Return a command about one job."""
    module = f"bastion.cli.launch.{name}"
    return Command(
        name=name,
        about=about,
        module=module,
        words="JOB",
        least=1,
        most=1,
        takes_command=takes_command,
        options=options,
    )


def _about_several(name: str, about: str, options: type[Options]) -> Command:
    """Return a command about jobs that words, patterns and filters name."""
    module = f"bastion.cli.launch.{name}"
    return Command(name=name, about=about, module=module, words="[JOB...]", most=JOBS_MAX, options=options)


LAUNCH = Command(
    name="",
    about="Submit a job: bundle this folder's code, and have COMMAND run on the fleet. One word after -- that holds "
    "spaces is a text for the shell; several words are run as they are. The last line printed is the job's name.",
    module="bastion.cli.launch.submit",
    takes_command=True,
    options=SubmitOptions,
)

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
    options=ClusterOptions,
)

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
            options=LsOptions,
        ),
        _about_one(
            "logs",
            "What a job prints: until it ends if it is live. Ctrl-C leaves it running. Lines of an array begin with "
            "the number of their task: [3].",
            LogsOptions,
        ),
        _about_one(
            "ssh",
            "A shell, or a COMMAND, on the machine of a job's worker, through the cloud's own tunnel.",
            SshOptions,
            takes_command=True,
        ),
        _about_one(
            "outputs", "List, copy or remove the files in a job's output folder, wherever it is.", OutputsOptions
        ),
        _about_one(
            "why",
            "Why a job is where it is, and what happened to it. With --at: where it was then, and why.",
            WhyOptions,
        ),
        _about_one(
            "history", "Every event of a job, one line each: who did what when, and what it led to.", TaskOptions
        ),
        _about_one("wait", "Wait until a job ends, and exit as it did.", WaitOptions),
        _about_several(
            "stop",
            "Ask for a job's end. It gets SIGTERM, its grace, then SIGKILL. Several are named by words, patterns like "
            "'sweep-*' and filters, and you are asked first.",
            StopOptions,
        ),
        _about_several(
            "hold",
            "Start nothing more of these jobs until they are released. What runs goes on, and is not started again "
            "after a preemption or a failure.",
            SeveralOptions,
        ),
        _about_several(
            "release",
            "Let held jobs start again, each in its old place. What an admin holds, an admin releases.",
            SeveralOptions,
        ),
        _about_one(
            "top",
            "Give a job the best place that its user's pending jobs of its project and priority have. "
            "Nobody else's place changes.",
            UserOptions,
        ),
        _about_one(
            "update",
            "Change what a job asks for. A COMMAND is its next attempt: what runs gets SIGTERM and its grace, and "
            "the next attempt begins at once on what it held, with this folder's code.",
            UpdateOptions,
            takes_command=True,
        ),
        Command(
            name="run",
            about="Run COMMAND here and now, as the fleet would: the code bundled, the same variables, and the exit code of "
            "a job that ended so. No bastion and no bucket is asked. Ctrl-C stops it with its grace; another one kills it.",
            module="bastion.cli.launch.run",
            takes_command=True,
            options=RunOptions,
        ),
        _about_one(
            "rerun",
            "Submit a job once more, with the code that it had. Flags, and a COMMAND after --, say what is otherwise; "
            "--env adds variables. Outputs go to a new folder, unless the job's user had named one.",
            RerunOptions,
            takes_command=True,
        ),
        Command(
            name="requeue",
            about="Submit a job that has ended once more, and go on from its newest checkpoint: launch rerun --resume.",
            module="bastion.cli.launch.rerun",
            words="JOB",
            least=1,
            most=1,
            takes_command=True,
            options=RequeueOptions,
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
        CLUSTER,
        _about_one("show", "All that is known of a job, with its spec.", Options),
        completion("launch", "bastion.cli.launch.completion"),
    ),
)
