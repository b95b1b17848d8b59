"""Describe the tool `bastion` as data: its commands and their flags. Pure."""

from __future__ import annotations

from ..launch.parts.submit_flags import BUNDLE
from ..terminal.flags import Action, Command, Flag, Tool, completion
from ..terminal.foreign_words import BASTION_WORDS
from ..terminal.formats import CSV, JSON, TABLE
from ..terminal.formats import flag as format_flag

_YES = Flag("yes", "Do it without being asked.", kind=bool, default=False)
_POLL = Flag("poll", "Seconds between two ticks.", "SECONDS", kind=float)
_WHO = Flag("user_id", "Who does it; also BASTION_USER. The default is your login name.", "USER")
_PAST = (
    Flag("diff", "With history: what changed, line by line.", kind=bool, default=False),
    Flag("limit", "With history: the newest N.", "N", kind=int, short="n"),
)
_DRY = Flag("dry_run", "Of a bastion that lives elsewhere: print every call to the API there, make none that changes anything, "
            "and do nothing else.", kind=bool, default=False)  # fmt: skip
_CAPACITY = Flag("capacity", "What this machine may give away, as v4=8,cpu=4.", "KIND=N,...")

_VIRTUAL = (
    Flag("resource", "The kind that trace and numbers are in. Default: the only one of the quota file.", "KIND"),
    Flag("checkpoint", "A job saves its work each time that it has done so much more.", "TIME", default="10m"),
    Flag("restart", "What a job that was stopped spends before it works again.", "TIME", default="0s"),
    Flag(
        "tick",
        "Decide only so often, as a bastion with this poll. Default: whenever something changed.",
        "TIME",
        default="0s",
    ),
    Flag("big", "From this size on a job counts as a big gang.", "N", kind=int, default=16),
    Flag("plot", "Also draw use, shares and borrowing over time, as one HTML file that needs no network.", "FILE"),
)

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
            flags=(
                Flag("name", "Name of the bastion; the same as --bastion.", "NAME"),
                Flag("local", "The fleet is this machine.", kind=bool, default=False),
                Flag("shared", "With --local, as root: the accounts of this group share the machine, or without a group all of "
                     "them. Jobs run as who submits them.", "GROUP", bare="*"),
                Flag("systemd", "With --local or an engine: install the unit that bastion unit prints, so that systemd starts "
                     "the bastion with the machine and keeps it alive.", kind=bool, default=False),
                _CAPACITY,
                _POLL,
                Flag("reclaim_delay", "Seconds that a project below its share waits for borrowers to end.", "SECONDS",
                     kind=float),
                Flag("permanent_bucket", "URL of the bucket for logs and outputs. Default: --bucket.", "URL"),
                Flag("ttl_bucket", "URL of the bucket for bundles, which expire. Default: --bucket.", "URL"),
                Flag("policy", "How jobs are scheduled: default or axlearn.", "POLICY", choices=("default", "axlearn")),
                Flag("gcp_project", "Project in Google's cloud: the bastion is a small VM there, and its fleet is there, too.",
                     "PROJECT"),
                Flag("gcp_zone", "Zone of that VM.", "ZONE"),
                Flag("fleet_zones", "Zones that machines are had in, in the order in which they are tried, with commas. "
                     "Default: the setting google.zones, else the zone of the VM.", "ZONES"),
                Flag("runner", "The fleet is a cluster that is there: slurm or ray, with the bastion on this machine; or "
                     "kubernetes, with the bastion as a Deployment in the cluster.", "RUNNER",
                     choices=("kubernetes", "slurm", "ray")),
                Flag("partition", "With --runner=slurm: the partition for jobs. Default: the setting, else the cluster's.",
                     "PARTITION"),
                Flag("dashboard", "With --runner=ray: URL of Ray's dashboard. Default: the setting, else "
                     "http://127.0.0.1:8265.", "URL"),
                Flag("namespace", "Namespace of that Deployment, and of the fleet. Default: the setting, else default.",
                     "NAMESPACE"),
                Flag("worker_image", "Container image of the pods that jobs run in.", "IMAGE"),
                Flag("service_account", "Service account of these pods. Default: the setting, else the namespace's.", "NAME"),
                Flag("bucket_secret", "Secret in the namespace with the bastion's credentials for the bucket, where its service "
                     "account has none.", "NAME"),
                Flag("image", "Container image that the VM or Deployment runs, by digest. Another one replaces it; no job "
                     "notices.", "IMAGE"),
                Flag("machine_type", "Type of that VM. Default: e2-small.", "TYPE"),
                Flag("dry_run", "With --gcp_project or --runner: print every call to the API there, make none that changes "
                     "anything.", kind=bool, default=False),
                Flag("terraform", "With --gcp_project: write it down as Terraform instead, in this folder.", "DIR"),
                Flag("run_as", "Account that jobs run as where root starts the bastion. Default: bastion-job, if there is "
                     "one, else root.", "USER"),
            ),
        ),
        Command(
            name="start",
            about="Run the bastion in the foreground. SIGTERM and Ctrl-C end it; jobs keep running. One that lives elsewhere "
            "is started there.",
            module="bastion.cli.bastion.start",
            flags=(
                _POLL,
                _CAPACITY,
                Flag("here", "Run it here, though the settings say that it lives elsewhere.", kind=bool, default=False),
                Flag("takeover", "Take over at once from a bastion that does not answer.", kind=bool, default=False),
                _DRY,
            ),
        ),
        Command(
            name="stop",
            about="End the bastion's loop. Jobs keep running, and the next start finds them.",
            module="bastion.cli.bastion.stop",
            flags=(
                Flag("drain", "First wait until every job that is there now has ended. Later ones are not waited for: "
                     "what is pending then waits for the next start.", kind=bool, default=False),
                _DRY,
            ),
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
            flags=(_WHO,),
        ),
        Command(
            name="resume",
            about="Start jobs again.",
            module="bastion.cli.bastion.resume",
            flags=(_WHO,),
        ),
        Command(
            name="delete",
            about="End the bastion for good. Refused while it has jobs or machines, unless --force cancels and deletes them. "
            "The bucket keeps everything, unless --purge.",
            module="bastion.cli.bastion.delete",
            flags=(
                Flag("force", "Cancel all jobs and delete all machines first.", kind=bool, default=False),
                Flag("abandon_machines", "With --force, where a runner cannot be asked any more: leave its machines and jobs as "
                     "they are, and name them.", kind=bool, default=False),
                Flag("purge", "Remove the bastion's objects from the bucket, too, and in Google's cloud the accounts that "
                     "were made for it.", kind=bool, default=False),
                _DRY,
                _YES,
            ),
        ),
        Command(
            name="doctor",
            about="Is all well? Your rights below each prefix, exclusive create, clocks, versions, stale machines and claims, "
            "settings and quota; each with what to do. Exit code 0 only when all is well.",
            module="bastion.cli.bastion.doctor",
            flags=(
                Flag("store", "Prove a store instead: every promise of a bucket, tried in a fresh place below this URL.", "URL"),
                Flag("verify", "Walk the whole journal instead: is each object what it was when the next one was written? Says "
                     "the first that differs or is missing.", kind=bool, default=False),
                _WHO,
            ),
        ),
        Command(
            name="recover",
            about="What of the journal is lost: objects that are missing or were changed, and jobs and attempts that only "
            "orders, claims, status.json and snapshots know. Exit code 1 if anything is.",
            module="bastion.cli.bastion.recover",
            flags=(
                Flag("accept_loss", "Go on without what is lost. Numbers that were given are not given again; lost jobs are "
                     "shown as rejected.", kind=bool, default=False),
                Flag("heal_time", "Set the journal's time back to the store's, after a bastion ran with a clock that was ahead; "
                     "lists what the wrong time did.", kind=bool, default=False),
                _WHO,
                _YES,
            ),
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
            flags=(
                Flag("bundles_days", "Days that bundles stay; 0: for ever. Default: the setting, else 30.", "DAYS", kind=int),
                Flag("logs_days", "Days that logs stay; 0: for ever. Default: the setting, else for ever.", "DAYS", kind=int),
                Flag(
                    "outputs_days",
                    "Days that output folders in the bucket stay; 0: for ever. Default: the setting, else for ever.",
                    "DAYS",
                    kind=int,
                ),
                Flag("dry_run", "Remove nothing, and say what would go.", kind=bool, default=False),
                Flag("print_rules", "Print the lifecycle rules for the store.", kind=bool, default=False),
                Flag("apply_rules", "Put them in force; rules that others made stay.", kind=bool, default=False),
                _WHO,
            ),
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
            flags=(
                Flag("by", "Add up by project, user or job.", "WHAT", default="project", choices=("project", "user", "job")),
                Flag("since", "Begin then: 30d ago, or 2026-01-31T09:30:00Z.", "TIME", default="30d"),
                Flag("until", "End then. Default: now.", "TIME"),
                Flag("plot", "Also draw it over time, as one HTML file that needs no network.", "FILE"),
                format_flag(TABLE, CSV, JSON),
            ),
        ),
        Command(
            name="simulate",
            about="A trace of jobs under one policy or several, on a virtual fleet with a virtual clock: who waits, who is "
            "preempted, what is lost. The policies and the state machine are the real ones. Needs no bucket.",
            module="bastion.cli.bastion.simulate",
            flags=(
                Flag("policy", "The policies, as axlearn,default.", "POLICY,...", default="default",
                     choices=("default", "axlearn")),
                Flag("trace", "The jobs, as CSV: submit_s,duration_s,gpus,project,user,priority.", "FILE"),
                Flag("quota", "The quota file. Whoever has a job in a project that it names is a member of it.", "FILE"),
                Flag("capacity", "What the fleet holds, as gpu=544. Default: what the quota file says.", "KIND=N,..."),
                Flag("until", "Count what was in use so long from the first submission on, as 28d. Default: to the end.",
                     "TIME"),
                *_VIRTUAL,
            ),
        ),
        Command(
            name="history",
            about="What happened to a project: every event of its jobs and every change of its share, one line each, with "
            "what it used of its share then. From the journal, also while no bastion runs.",
            module="bastion.cli.bastion.history",
            words="PROJECT",
            least=1,
            most=1,
            flags=(Flag("since", "Begin then: 30d ago, or 2026-01-31T09:30:00Z.", "TIME", default="1d"),),
        ),
        Command(
            name="replay",
            about="Take recorded decisions again, from the journal alone, and prove that each is what it was, bit for bit. "
            "Exit code 1 if one is not that this version took. One decision, by --at or --seq, is told in full.",
            module="bastion.cli.bastion.replay",
            flags=(
                Flag("at", "The last one at that moment or before: 2h ago, 03:00 (UTC), or 2026-01-31T09:30:00Z.", "TIME"),
                Flag("seq", "Those of this journal object.", "N", kind=int),
                Flag("since", "Those since then: 30d ago, or 2026-01-31T09:30:00Z.", "TIME", default="1d"),
                Flag("until", "Those before that. Default: now.", "TIME"),
                Flag("all", "All that are recorded.", kind=bool, default=False),
            ),
        ),
        Command(
            name="logs",
            about="The bastion's own log, from the bucket.",
            module="bastion.cli.bastion.logs",
            flags=(
                Flag("follow", "Go on until Ctrl-C.", kind=bool, default=False),
                Flag("tail", "Begin with the last N lines.", "N", kind=int, default=1000),
                Flag("console", "What its VM wrote on the serial console instead, or its pod as output.", kind=bool,
                     default=False),
            ),
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
                Action("simulate", "What would have been under a file: the jobs of the journal, or of a trace, under the "
                       "present one and under this one, on a virtual fleet.", "FILE", 1, 1),
            ),
            flags=(
                *_PAST,
                Flag("since", "With simulate: the jobs since then: 30d ago, or 2026-01-31T09:30:00Z.", "TIME", default="30d"),
                Flag("stop_affected", "With set: stop the jobs of users who are no members of their projects.", kind=bool,
                     default=False),
                Flag("trace", "With simulate: these jobs instead, as of bastion simulate.", "FILE"),
                *_VIRTUAL,
                _WHO,
                _YES,
            ),
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
                Action("set", "Change some of the bastion's settings: poll=0.5, capacity=v4=8,cpu=4, capacity.v4=8.",
                       "KEY=VALUE...", 1, 64),
                Action("history", "Who changed the bastion's settings, when and how."),
            ),
            flags=(
                Flag("project_id", "Project of the profile.", "PROJECT"),
                Flag("user_id", "User of the profile; of a change, who makes it.", "USER"),
                Flag("docker_repo", "Registry and path of images, for the profile: --bundler_spec=image=NAME is then enough.",
                     "HOST/PATH"),
                *_PAST,
                _YES,
            ),
        ),
        BUNDLE,
        completion("bastion", "bastion.cli.bastion.completion"),
    ),
)  # fmt: skip
