"""Declare the flags of the commands of `bastion`. Pure."""

from __future__ import annotations

from ..terminal.flags import ConfirmOptions, Options, decimal, number, switch, text
from ..terminal.formats import CSV, JSON, TABLE, formats
from .shared import FilterOptions, UserOptions


class DryRunOptions(Options):
    """The flag of commands that can print what they would ask the API for."""

    dry_run = switch(
        "Of a bastion that lives elsewhere: print every call to the API there, make none that changes anything, and do "
        "nothing else."
    )


class HostingOptions(DryRunOptions):
    """Flags of `bastion create` that say where the bastion runs."""

    gcp_project = text(
        "Project in Google's cloud: the bastion is a small VM there, and its fleet is there, too.", "PROJECT"
    )
    gcp_zone = text("Zone of that VM.", "ZONE")
    fleet_zones = text(
        "Zones that machines are had in, in the order in which they are tried, with commas. Default: the setting "
        "google.zones, else the zone of the VM.",
        "ZONES",
    )
    runner = text(
        "The fleet is a cluster that is there: slurm or ray, with the bastion on this machine; or kubernetes, with the "
        "bastion as a Deployment in the cluster.",
        "RUNNER",
        choices=("kubernetes", "slurm", "ray"),
    )
    namespace = text("Namespace of that Deployment, and of the fleet. Default: the setting, else default.", "NAMESPACE")
    worker_image = text("Container image of the pods that jobs run in.", "IMAGE")
    service_account = text("Service account of these pods. Default: the setting, else the namespace's.", "NAME")
    bucket_secret = text(
        "Secret in the namespace with the bastion's credentials for the bucket, where its service account has none.",
        "NAME",
    )
    image = text(
        "Container image that the VM or Deployment runs, by digest. Another one replaces it; no job notices.", "IMAGE"
    )
    machine_type = text("Type of that VM. Default: e2-small.", "TYPE")
    dry_run = DryRunOptions.dry_run.but(
        about="With --gcp_project or --runner: print every call to the API there, make none that changes anything."
    )
    terraform = text("With --gcp_project: write it down as Terraform instead, in this folder.", "DIR")


class WhoOptions(UserOptions):
    """The flag of commands that somebody does to the bastion."""

    user_id = UserOptions.user_id.but(about="Who does it; also BASTION_USER. The default is your login name.")


class LoopOptions(Options):
    """Flags of the bastion's loop."""

    poll = decimal("Seconds between two ticks.", "SECONDS")
    capacity = text("What this machine may give away, as v4=8,cpu=4.", "KIND=N,...")


class PastOptions(Options):
    """Flags of commands that show the versions of a file."""

    diff = switch("With history: what changed, line by line.")
    limit = number("With history: the newest N.", "N", least=1, short="n")


class VirtualOptions(Options):
    """Flags of simulations on a virtual fleet."""

    resource = text("The kind that trace and numbers are in. Default: the only one of the quota file.", "KIND")
    checkpoint = text("A job saves its work each time that it has done so much more.", "TIME", default="10m")
    restart = text("What a job that was stopped spends before it works again.", "TIME", default="0s")
    tick = text(
        "Decide only so often, as a bastion with this poll. Default: whenever something changed.", "TIME", default="0s"
    )
    big = number("From this size on a job counts as a big gang.", "N", default=16)
    plot = text("Also draw use, shares and borrowing over time, as one HTML file that needs no network.", "FILE")


class CreateOptions(HostingOptions, LoopOptions):
    """Flags of `bastion create`."""

    name = text("Name of the bastion; the same as --bastion.", "NAME")
    local = switch("The fleet is this machine.")
    shared = text(
        "With --local, as root: the accounts of this group share the machine, or without a group all of them. Jobs run as "
        "who submits them.",
        "GROUP",
        bare="*",
    )
    systemd = switch(
        "With --local or an engine: install the unit that bastion unit prints, so that systemd starts the bastion with "
        "the machine and keeps it alive."
    )
    reclaim_delay = decimal("Seconds that a project below its share waits for borrowers to end.", "SECONDS")
    permanent_bucket = text("URL of the bucket for logs and outputs. Default: --bucket.", "URL")
    ttl_bucket = text("URL of the bucket for bundles, which expire. Default: --bucket.", "URL")
    policy = text("How jobs are scheduled: default or axlearn.", "POLICY", choices=("default", "axlearn"))
    partition = text(
        "With --runner=slurm: the partition for jobs. Default: the setting, else the cluster's.", "PARTITION"
    )
    dashboard = text(
        "With --runner=ray: URL of Ray's dashboard. Default: the setting, else http://127.0.0.1:8265.", "URL"
    )
    run_as = text(
        "Account that jobs run as where root starts the bastion. Default: bastion-job, if there is one, else root.",
        "USER",
    )


class StartOptions(DryRunOptions, LoopOptions):
    """Flags of `bastion start`."""

    here = switch("Run it here, though the settings say that it lives elsewhere.")
    takeover = switch("Take over at once from a bastion that does not answer.")


class StopOptions(DryRunOptions):
    """Flags of `bastion stop`."""

    drain = switch(
        "First wait until every job that is there now has ended. Later ones are not waited for: what is pending then "
        "waits for the next start."
    )


class DeleteOptions(DryRunOptions, ConfirmOptions):
    """Flags of `bastion delete`."""

    force = switch("Cancel all jobs and delete all machines first.")
    abandon_machines = switch(
        "With --force, where a runner cannot be asked any more: leave its machines and jobs as they are, and name them."
    )
    purge = switch(
        "Remove the bastion's objects from the bucket, too, and in Google's cloud the accounts that were made for it."
    )


class DoctorOptions(WhoOptions):
    """Flags of `bastion doctor`."""

    store = text("Prove a store instead: every promise of a bucket, tried in a fresh place below this URL.", "URL")
    verify = switch(
        "Walk the whole journal instead: is each object what it was when the next one was written? Says the first that "
        "differs or is missing."
    )


class RecoverOptions(WhoOptions, ConfirmOptions):
    """Flags of `bastion recover`."""

    accept_loss = switch(
        "Go on without what is lost. Numbers that were given are not given again; lost jobs are shown as rejected."
    )
    heal_time = switch(
        "Set the journal's time back to the store's, after a bastion ran with a clock that was ahead; lists what the wrong "
        "time did."
    )


class GcOptions(WhoOptions):
    """Flags of `bastion gc`."""

    bundles_days = number("Days that bundles stay; 0: for ever. Default: the setting, else 30.", "DAYS")
    logs_days = number("Days that logs stay; 0: for ever. Default: the setting, else for ever.", "DAYS")
    outputs_days = number(
        "Days that output folders in the bucket stay; 0: for ever. Default: the setting, else for ever.", "DAYS"
    )
    dry_run = switch("Remove nothing, and say what would go.")
    print_rules = switch("Print the lifecycle rules for the store.")
    apply_rules = switch("Put them in force; rules that others made stay.")


class UsageOptions(Options):
    """Flags of `bastion usage`."""

    by = text("Add up by project, user or job.", "WHAT", default="project", choices=("project", "user", "job"))
    since = text("Begin then: 30d ago, or 2026-01-31T09:30:00Z.", "TIME", default="30d")
    until = text("End then. Default: now.", "TIME")
    label = FilterOptions.label.but(about="Count only jobs with this label; may be repeated: with all of them.")
    plot = text("Also draw it over time, as one HTML file that needs no network.", "FILE")
    output = formats(TABLE, CSV, JSON)


class SimulateOptions(VirtualOptions):
    """Flags of `bastion simulate`."""

    policy = text("The policies, as axlearn,default.", "POLICY,...", default="default", choices=("default", "axlearn"))
    trace = text("The jobs, as CSV: submit_s,duration_s,gpus,project,user,priority.", "FILE")
    quota = text("The quota file. Whoever has a job in a project that it names is a member of it.", "FILE")
    capacity = text("What the fleet holds, as gpu=544. Default: what the quota file says.", "KIND=N,...")
    until = text("Count what was in use so long from the first submission on, as 28d. Default: to the end.", "TIME")


class HistoryOptions(Options):
    """Flags of `bastion history`."""

    since = text("Begin then: 30d ago, or 2026-01-31T09:30:00Z.", "TIME", default="1d")


class ReplayOptions(Options):
    """Flags of `bastion replay`."""

    at = text("The last one at that moment or before: 2h ago, 03:00 (UTC), or 2026-01-31T09:30:00Z.", "TIME")
    seq = number("Those of this journal object.", "N")
    since = text("Those since then: 30d ago, or 2026-01-31T09:30:00Z.", "TIME", default="1d")
    until = text("Those before that. Default: now.", "TIME")
    all = switch("All that are recorded.")


class LogsOptions(Options):
    """Flags of `bastion logs`."""

    follow = switch("Go on until Ctrl-C.")
    tail = number("Begin with the last N lines.", "N", default=1000)
    console = switch("What its VM wrote on the serial console instead, or its pod as output.")


class QuotaOptions(PastOptions, VirtualOptions, WhoOptions, ConfirmOptions):
    """Flags of `bastion quota`."""

    since = text("With simulate: the jobs since then: 30d ago, or 2026-01-31T09:30:00Z.", "TIME", default="30d")
    stop_affected = switch("With set: stop the jobs of users who are no members of their projects.")
    trace = text("With simulate: these jobs instead, as of bastion simulate.", "FILE")


class ConfigOptions(PastOptions, ConfirmOptions, UserOptions):
    """Flags of `bastion config`."""

    project_id = text("Project of the profile.", "PROJECT")
    user_id = UserOptions.user_id.but(about="User of the profile; of a change, who makes it.")
    docker_repo = text(
        "Registry and path of images, for the profile: --bundler_spec=image=NAME is then enough.", "HOST/PATH"
    )
