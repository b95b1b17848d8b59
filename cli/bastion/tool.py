"""Describe the tool `bastion` as data: its commands. Pure."""

from __future__ import annotations

from ..common.tool import BUNDLE
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
from ..terminal.flags import Action, Command, Tool, completion
from ..terminal.foreign_words import BASTION_WORDS

TOOL = Tool(
    name="bastion",
    about="Create and look after a bastion: the scheduler that divides a fleet among the jobs in a bucket.",
    foreign=BASTION_WORDS,
    commands=(
        Command(
            name="create",
            about="Store the settings given, start the bastion in the background, and return when it ticks. "
            "Settings not given stay as they are.",
            module="bastion.cli.bastion.create",
            options=CreateOptions,
        ),
        Command(
            name="start",
            about="Run the bastion in the foreground. SIGTERM and Ctrl-C end it; jobs keep running. One that lives elsewhere "
            "is started there.",
            module="bastion.cli.bastion.start",
            options=StartOptions,
        ),
        Command(
            name="stop",
            about="End the bastion's loop. Jobs keep running, and the next start finds them.",
            module="bastion.cli.bastion.stop",
            options=StopOptions,
        ),
        Command(
            name="unit",
            about="Print the systemd unit that keeps this bastion alive on this machine; bastion create --systemd installs it.",
            module="bastion.cli.bastion.unit",
        ),
        Command(
            name="pause",
            about="Start nothing and preempt nobody until bastion resume; also after a restart. What runs goes on, and "
            "what its users ask to stop is stopped.",
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
            about="End the bastion for good. Refused while it has jobs or machines, unless --force cancels and deletes them. "
            "The bucket keeps everything, unless --purge.",
            module="bastion.cli.bastion.delete",
            options=DeleteOptions,
        ),
        Command(
            name="doctor",
            about="Is all well? Your rights below each prefix, exclusive create, clocks, versions, stale machines and claims, "
            "settings and quota; each with what to do. Exit code 0 only when all is well.",
            module="bastion.cli.bastion.doctor",
            options=DoctorOptions,
        ),
        Command(
            name="recover",
            about="What of the journal is lost: objects that are missing or were changed, and jobs and attempts that only "
            "orders, claims, status.json and snapshots know. Exit code 1 if anything is.",
            module="bastion.cli.bastion.recover",
            options=RecoverOptions,
        ),
        Command(
            name="auth",
            about="Which credentials are in force for each bucket, and where they come from. No secret is printed.",
            module="bastion.cli.bastion.auth",
        ),
        Command(
            name="migrate",
            about="Print a file of another scheduler's in our form, for launch --spec.",
            module="bastion.cli.bastion.migrate",
            actions=(Action("axlearn", "A job spec of AXLearn's bastion, version 1.", "FILE", 1, 1),),
        ),
        Command(
            name="gc",
            about="Remove bundles, logs and outputs that are older than the settings say (retention.bundles_days, logs_days, "
            "outputs_days), but nothing that a job which has not ended needs. Clouds have rules for bundles and logs.",
            module="bastion.cli.bastion.gc",
            options=GcOptions,
        ),
        Command(
            name="status",
            about="Is it alive, what does it hold, and which project uses how much of its share.",
            module="bastion.cli.bastion.status",
        ),
        Command(
            name="top",
            about="Shares, use, borrowing and the queue, live on the whole terminal. q ends it, / filters, s sorts, "
            "enter says why a job is where it is.",
            module="bastion.cli.bastion.top",
        ),
        Command(
            name="usage",
            about="Who used how much of the fleet, how long jobs waited, and who was preempted for whom: from the "
            "journal, also while no bastion runs.",
            module="bastion.cli.bastion.usage",
            options=UsageOptions,
        ),
        Command(
            name="simulate",
            about="A trace of jobs under one policy or several, on a virtual fleet with a virtual clock: who waits, who is "
            "preempted, what is lost. The policies and the state machine are the real ones. Needs no bucket.",
            module="bastion.cli.bastion.simulate",
            options=SimulateOptions,
        ),
        Command(
            name="history",
            about="What happened to a project: every event of its jobs and every change of its share, one line each, with "
            "what it used of its share then. From the journal, also while no bastion runs.",
            module="bastion.cli.bastion.history",
            words="PROJECT",
            least=1,
            most=1,
            options=HistoryOptions,
        ),
        Command(
            name="replay",
            about="Take recorded decisions again, from the journal alone, and prove that each is what it was, bit for bit. "
            "Exit code 1 if one is not that this version took. One decision, by --at or --seq, is told in full.",
            module="bastion.cli.bastion.replay",
            options=ReplayOptions,
        ),
        Command(
            name="logs",
            about="The bastion's own log, from the bucket.",
            module="bastion.cli.bastion.logs",
            options=LogsOptions,
        ),
        Command(
            name="list",
            about="The bastions of the bucket: whether each is at work, where, and on which VM or Deployment.",
            module="bastion.cli.bastion.list",
        ),
        Command(
            name="quota",
            about="The quota file: who may use what. Show it, check or set one, edit it, and see who changed it.",
            module="bastion.cli.bastion.quota",
            actions=(
                Action("show", "The file, and what every project holds of its share."),
                Action("check", "What is wrong or odd with a file. Nothing is written.", "FILE", 1, 1),
                Action("set", "Show what a file changes and for whom, ask, and put it in force.", "FILE", 1, 1),
                Action("edit", "The same with the file in the bucket and your editor: VISUAL, EDITOR, or vi."),
                Action("history", "Who changed the file, when and how."),
                Action(
                    "simulate",
                    "What would have been under a file: the jobs of the journal, or of a trace, under the "
                    "present one and under this one, on a virtual fleet.",
                    "FILE",
                    1,
                    1,
                ),
            ),
            options=QuotaOptions,
        ),
        Command(
            name="config",
            about="Your profiles on this machine, and the bastion's settings in its bucket. Profiles stand for flags: list, "
            "activate, add, remove. The settings are the admins': edit, set, history.",
            module="bastion.cli.bastion.config",
            actions=(
                Action("list", "Your profiles; * marks the active one."),
                Action("activate", "Go by this profile from now on.", "PROFILE", 1, 1),
                Action("add", "Make a profile of the flags given, or change one.", "PROFILE", 1, 1),
                Action("remove", "Forget a profile.", "PROFILE", 1, 1),
                Action("show", "What this call goes by and who says so, and the bastion's settings."),
                Action("edit", "The bastion's settings in your editor: VISUAL, EDITOR, or vi."),
                Action(
                    "set",
                    "Change some of the bastion's settings: poll=0.5, capacity=v4=8,cpu=4, capacity.v4=8.",
                    "KEY=VALUE...",
                    1,
                    64,
                ),
                Action("history", "Who changed the bastion's settings, when and how."),
            ),
            options=ConfigOptions,
        ),
        BUNDLE,
        completion("bastion", "bastion.cli.bastion.completion"),
    ),
)
