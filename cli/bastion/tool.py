"""Describe the tool `bastion` as data: its commands. Pure."""

from __future__ import annotations

from ..options.bastion import (
    ConfigOptions,
    CreateOptions,
    DeleteOptions,
    DoctorOptions,
    GcOptions,
    HistoryOptions,
    LogsOptions,
    QuotaOptions,
    RecoverOptions,
    ReplayOptions,
    SimulateOptions,
    StartOptions,
    StopOptions,
    UsageOptions,
    WhoOptions,
)
from ..options.shared import BUNDLE
from ..terminal.flags import Action, Command, Foreign, Tool, completion

_WORDS = Foreign(
    commands={"ls": "list"},
    answers={
        "queue": "launch ls --all shows everybody's jobs, bastion top the whole queue",
        "cancel": "launch stop JOB ends a job, bastion stop the bastion",
        "kill": "launch stop JOB ends a job, bastion stop the bastion",
        "submit": "launch -- COMMAND submits a job",
        "up": "bastion create makes a bastion, bastion start brings back one that was stopped",
        "down": "bastion stop ends the bastion, bastion delete removes it",
    },
    flags={"name": ("bastion",)},
)
"""Words that people know from other tools, with their meaning here."""

TOOL = Tool(
    name="bastion",
    about="Create and manage a bastion: the scheduler that divides a fleet among the jobs in a bucket.",
    foreign=_WORDS,
    commands=(
        Command(
            name="create",
            about="Store the given settings, start the bastion in the background, and return after its first tick. Other "
            "settings keep their values.",
            module="bastion.cli.bastion.create",
            options=CreateOptions,
        ),
        Command(
            name="start",
            about="Run the bastion in the foreground, or start its VM or Deployment if it has one. SIGTERM and Ctrl-C end "
            "it; jobs keep running.",
            module="bastion.cli.bastion.start",
            options=StartOptions,
        ),
        Command(
            name="stop",
            about="Stop the bastion. Jobs keep running, and the bastion finds them when it starts again.",
            module="bastion.cli.bastion.stop",
            options=StopOptions,
        ),
        Command(
            name="unit",
            about="Print a systemd unit that keeps this bastion running on this machine; bastion create --systemd installs "
            "it.",
            module="bastion.cli.bastion.unit",
        ),
        Command(
            name="pause",
            about="Start and preempt no jobs until bastion resume, even after a restart. Running jobs continue, and users "
            "can still stop them.",
            module="bastion.cli.bastion.pause",
            options=WhoOptions,
        ),
        Command(
            name="resume",
            about="Start jobs again.",
            module="bastion.cli.bastion.pause:resume",
            options=WhoOptions,
        ),
        Command(
            name="delete",
            about="Delete the bastion. Refused while it has jobs or machines, unless --force cancels and deletes them. "
            "Objects in the bucket stay, unless --purge removes them.",
            module="bastion.cli.bastion.delete",
            options=DeleteOptions,
        ),
        Command(
            name="doctor",
            about="Check the bastion: your rights below each prefix, exclusive create, clocks, versions, stale machines and"
            " claims, settings and quota. Each problem comes with what to do. Exit code 0 only if there is none.",
            module="bastion.cli.bastion.doctor",
            options=DoctorOptions,
        ),
        Command(
            name="recover",
            about="Report what is lost from the journal: objects that are missing or changed, and jobs and attempts that "
            "only orders, claims, status.json and snapshots know. Exit code 1 if anything is lost.",
            module="bastion.cli.bastion.recover",
            options=RecoverOptions,
        ),
        Command(
            name="auth",
            about="Show which credentials each bucket uses, and where they come from. No secret is printed.",
            module="bastion.cli.bastion.auth",
        ),
        Command(
            name="migrate",
            about="Convert a file of another scheduler, and print the result for launch --spec.",
            module="bastion.cli.bastion.migrate",
            actions=(Action("axlearn", "Convert a job spec of AXLearn's bastion, version 1.", "FILE", 1, 1),),
        ),
        Command(
            name="gc",
            about="Remove bundles, logs and outputs older than the settings allow (retention.bundles_days, logs_days, "
            "outputs_days). What a job needs is kept until the job has ended. In a cloud, the store's own rules can "
            "remove bundles and logs.",
            module="bastion.cli.bastion.gc",
            options=GcOptions,
        ),
        Command(
            name="status",
            about="Show whether the bastion is alive, what it holds, and how much of its share each project uses.",
            module="bastion.cli.bastion.status",
        ),
        Command(
            name="top",
            about="Show shares, usage, borrowing and pending jobs live on the whole terminal. q quits, / filters, s sorts, "
            "enter explains a job's state.",
            module="bastion.cli.bastion.top",
        ),
        Command(
            name="usage",
            about="Report who used how much of the fleet, how long jobs waited, and which jobs were preempted for which. "
            "Reads the journal, so no bastion has to run.",
            module="bastion.cli.bastion.usage",
            options=UsageOptions,
        ),
        Command(
            name="simulate",
            about="Simulate a trace of jobs under one or several policies, with a virtual fleet and clock: which jobs wait,"
            " which are preempted, and what work is lost. Uses the real policies and state machine. Needs no bucket.",
            module="bastion.cli.bastion.simulate",
            options=SimulateOptions,
        ),
        Command(
            name="history",
            about="List what happened to a project: every event of its jobs and every change of its share, one line each, "
            "with the part of its share in use at that time. Reads the journal, so no bastion has to run.",
            module="bastion.cli.bastion.history",
            words="PROJECT",
            least=1,
            most=1,
            options=HistoryOptions,
        ),
        Command(
            name="replay",
            about="Take recorded decisions again from the journal alone, and check that each result is identical, bit for "
            "bit. Exit code 1 if a decision of this version differs. With --at or --seq: print one decision in full.",
            module="bastion.cli.bastion.replay",
            options=ReplayOptions,
        ),
        Command(
            name="logs",
            about="Print the bastion's own log, from the bucket.",
            module="bastion.cli.bastion.logs",
            options=LogsOptions,
        ),
        Command(
            name="list",
            about="List the bastions of the bucket: whether each one is running, where, and on which VM or Deployment.",
            module="bastion.cli.bastion.list",
        ),
        Command(
            name="quota",
            about="Show, check, set or edit the quota file, which says who may use how much. Show who changed it, or "
            "simulate another one.",
            module="bastion.cli.bastion.quota",
            actions=(
                Action("show", "Print the file, and how much of its share every project uses."),
                Action("check", "List errors and oddities in a file. Nothing is written.", "FILE", 1, 1),
                Action("set", "Show what a file changes and for whom, ask, and make it the quota file.", "FILE", 1, 1),
                Action("edit", "Edit the file in your editor (VISUAL, EDITOR, or vi), then do the same as set."),
                Action("history", "List who changed the file, when and how."),
                Action(
                    "simulate",
                    "Simulate a quota change: the jobs of the journal, or of a trace, under the present file and under this "
                    "one, on a virtual fleet.",
                    "FILE",
                    1,
                    1,
                ),
            ),
            options=QuotaOptions,
        ),
        Command(
            name="config",
            about="Manage your profiles on this machine (list, activate, add, remove) and the bastion's settings in its "
            "bucket (show, edit, set, history). A profile holds defaults for flags. Only admins can change settings.",
            module="bastion.cli.bastion.config",
            actions=(
                Action("list", "List your profiles; * marks the active one."),
                Action("activate", "Use this profile from now on.", "PROFILE", 1, 1),
                Action("add", "Create a profile from the given flags, or change one.", "PROFILE", 1, 1),
                Action("remove", "Remove a profile.", "PROFILE", 1, 1),
                Action(
                    "show", "Show the values that this call uses and where each comes from, and the bastion's settings."
                ),
                Action("edit", "Edit the bastion's settings in your editor: VISUAL, EDITOR, or vi."),
                Action(
                    "set",
                    "Change some of the bastion's settings: poll=0.5, capacity=v4=8,cpu=4, capacity.v4=8.",
                    "KEY=VALUE...",
                    1,
                    64,
                ),
                Action("history", "List who changed the bastion's settings, when and how."),
            ),
            options=ConfigOptions,
        ),
        BUNDLE,
        completion("bastion", "bastion.cli.bastion.completion"),
    ),
)
