"""Describe the tool `launch` as data: its commands. Pure."""

from __future__ import annotations

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
from ..options.shared import BUNDLE, SeveralOptions, SubmitOptions, UserOptions
from ..terminal.flags import WORD, Action, Command, Foreign, Options, Tool, completion

JOBS_MAX = 10_000  # the most jobs that one command line may name

_WORDS = Foreign(
    commands={"cancel": "stop", "kill": "stop", "list": "ls", "jobs": "ls", "start": "", "submit": ""},
    answers={
        "status": "launch ls lists your jobs, launch why JOB explains one, bastion status shows the bastion",
        "queue": "launch ls --all lists everybody's jobs",
        "describe": "launch show JOB shows all that is known of a job",
        "delete": "launch stop JOB ends a job; its files stay until bastion gc removes them",
        "exec": "launch ssh JOB -- COMMAND runs a command beside a job",
    },
    flags={
        "job_name": ("name", WORD),
        "name": (WORD,),
        "job_id": (WORD,),
        "project": ("project_id",),
        "num_nodes": ("num_replicas",),
    },
)
"""Words that people know from other tools, with their meaning here."""


def _about_one(name: str, module: str, about: str, options: type[Options], *, takes_command: bool = False) -> Command:
    """Return a command about one job."""
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


def _about_several(name: str, module: str, about: str, options: type[Options]) -> Command:
    """Return a command about jobs that words, patterns and filters name."""
    return Command(name=name, about=about, module=module, words="[JOB...]", most=JOBS_MAX, options=options)


LAUNCH = Command(
    name="",
    about="Submit a job: bundle this folder's code and run COMMAND on the fleet. After --, one word with spaces is "
    "a text for the shell; several words run as they are. The last line printed is the job's name.",
    module="bastion.cli.launch.submit",
    takes_command=True,
    options=SubmitOptions,
)

CLUSTER = Command(
    name="cluster",
    about="Run a Ray cluster as a job: a gang with its head on worker 0. The cluster holds its share of the quota "
    "until you take it down, and anyone who can reach it over the network can use it. Its machines need Ray: "
    "in an image, or by --setup.",
    module="bastion.cli.launch.cluster",
    actions=(
        Action("up", "Submit the cluster: --num_replicas nodes with --resources each.", "NAME", 1, 1),
        Action("down", "Stop the cluster, and everything that runs on it.", "NAME", 1, 1),
        Action("status", "Print one line: the cluster's state, and its dashboard.", "NAME", 1, 1),
        Action(
            "details",
            "Print what the cluster holds, and the addresses of its dashboard, for ray.init, and of its head.",
            "NAME",
            1,
            1,
        ),
    ),
    options=ClusterOptions,
)

TOOL = Tool(
    name="launch",
    about=LAUNCH.about,
    action=LAUNCH,
    foreign=_WORDS,
    commands=(
        Command(
            name="ls",
            about="List your jobs that have not ended, with the reason why each pending job waits.",
            module="bastion.cli.launch.ls",
            options=LsOptions,
        ),
        _about_one(
            "logs",
            "bastion.cli.launch.logs",
            "Print what a job writes, until it ends if it still runs. Ctrl-C leaves the job running. In an array, "
            "each line begins with the number of its task: [3].",
            LogsOptions,
        ),
        _about_one(
            "ssh",
            "bastion.cli.launch.ssh",
            "Open a shell, or run COMMAND, on the machine of a job's worker, through the cloud's own tunnel.",
            SshOptions,
            takes_command=True,
        ),
        _about_one(
            "outputs",
            "bastion.cli.launch.outputs",
            "List, copy or remove the files in a job's output folder, wherever it is.",
            OutputsOptions,
        ),
        _about_one(
            "why",
            "bastion.cli.launch.why",
            "Explain why a job is in its state, and what happened to it. With --at: at that time.",
            WhyOptions,
        ),
        _about_one(
            "history",
            "bastion.cli.launch.history",
            "List every event of a job, one line each: the time, the user, what happened, and its result.",
            TaskOptions,
        ),
        _about_one(
            "wait", "bastion.cli.launch.wait", "Wait until a job ends, and exit with its exit code.", WaitOptions
        ),
        _about_several(
            "stop",
            "bastion.cli.launch.stop",
            "Stop a job: SIGTERM, the grace, then SIGKILL. Names, patterns like 'sweep-*' and filters stop several, "
            "after a question.",
            StopOptions,
        ),
        _about_several(
            "hold",
            "bastion.cli.launch.hold",
            "Start no more of these jobs until they are released. A running attempt continues, but it does not start "
            "again after a preemption or a failure.",
            SeveralOptions,
        ),
        _about_several(
            "release",
            "bastion.cli.launch.release",
            "Release held jobs: each takes its old place among the pending jobs. If an admin holds a job, only an "
            "admin can release it.",
            SeveralOptions,
        ),
        _about_one(
            "top",
            "bastion.cli.launch.top",
            "Move a job before all of its user's other pending jobs of the same project and priority. Other users' "
            "jobs keep their places.",
            UserOptions,
        ),
        _about_one(
            "update",
            "bastion.cli.launch.update",
            "Change what a job asks for. With COMMAND: a running attempt gets SIGTERM and its grace, and the next one"
            " starts at once on the same resources, with COMMAND and this folder's code.",
            UpdateOptions,
            takes_command=True,
        ),
        Command(
            name="run",
            about="Run COMMAND on this machine as the fleet would: with bundled code, the same variables, and the exit code"
            " that a job would have. Needs no bastion and no bucket. Ctrl-C stops it with its grace; a second Ctrl-C "
            "kills it.",
            module="bastion.cli.launch.run",
            takes_command=True,
            options=RunOptions,
        ),
        _about_one(
            "rerun",
            "bastion.cli.launch.rerun",
            "Submit a job once more, with the same code. Flags, and a COMMAND after --, replace its values; --env "
            "and --label add to its own. Outputs go to a new folder, unless the user named one.",
            RerunOptions,
            takes_command=True,
        ),
        Command(
            name="requeue",
            about="Submit an ended job once more, and continue from its newest checkpoint: the same as launch rerun "
            "--resume.",
            module="bastion.cli.launch.rerun",
            words="JOB",
            least=1,
            most=1,
            takes_command=True,
            options=RequeueOptions,
        ),
        Command(
            name="diff",
            about="Show the differences between two jobs: their specs, the files of their code, and the environments that "
            "they ran in.",
            module="bastion.cli.launch.diff",
            words="JOB JOB",
            least=2,
            most=2,
        ),
        BUNDLE,
        CLUSTER,
        _about_one("show", "bastion.cli.launch.show", "Show all that is known of a job, with its spec.", Options),
        completion("launch", "bastion.cli.launch.completion"),
    ),
)
