"""Declare the flags of the commands of `bastion`. Pure."""

from __future__ import annotations

from ..terminal.flags import ConfirmOptions, Options, decimal, number, switch, text
from ..terminal.table import CSV, JSON, TABLE, formats
from .shared import FilterOptions, UserOptions


class DryRunOptions(Options):
    """The flag of commands that can print what they would ask the API for."""

    dry_run = switch(
        "For a bastion on a VM or in a Deployment: print every API call, make none that changes anything, and do "
        "nothing else."
    )


class HostingOptions(DryRunOptions):
    """Flags of `bastion create` that say where the bastion runs."""

    gcp_project = text(
        "Project in Google Cloud. The bastion becomes a small VM there, and the fleet is there too.", "PROJECT"
    )
    gcp_zone = text("Zone of the bastion's VM.", "ZONE")
    fleet_zones = text(
        "Zones to create machines in, separated by commas, in the order to try. Default: the setting "
        "google.zones, else the zone of the VM.",
        "ZONES",
    )
    runner = text(
        "Existing cluster to use as the fleet: slurm or ray, with the bastion on this machine; or kubernetes, "
        "with the bastion as a Deployment in the cluster.",
        "RUNNER",
        choices=("kubernetes", "slurm", "ray"),
    )
    namespace = text("Namespace of the Deployment and of the fleet. Default: the setting, else default.", "NAMESPACE")
    worker_image = text("Container image of the pods that jobs run in.", "IMAGE")
    service_account = text(
        "Service account of the pods that jobs run in. Default: the setting, else the namespace's.", "NAME"
    )
    bucket_secret = text(
        "Secret in the namespace with the bastion's credentials for the bucket. Needed if its service account has"
        " none.",
        "NAME",
    )
    image = text(
        "Container image that the VM or Deployment runs, by digest. A new image replaces it; jobs keep running.",
        "IMAGE",
    )
    machine_type = text("Machine type of the VM. Default: e2-small.", "TYPE")
    dry_run = DryRunOptions.dry_run.but(
        about="With --gcp_project or --runner: print every API call, and make none that changes anything."
    )
    terraform = text("With --gcp_project: write Terraform files into this folder instead.", "DIR")


class WhoOptions(UserOptions):
    """The flag of commands that somebody does to the bastion."""

    user_id = UserOptions.user_id.but(about="User who makes the change; also BASTION_USER. Default: your login name.")


class LoopOptions(Options):
    """Flags of the bastion's loop."""

    poll = decimal("Seconds between two ticks.", "SECONDS")
    capacity = text("Resources of this machine that jobs may use: v4=8,cpu=4.", "KIND=N,...")


class PastOptions(Options):
    """Flags of commands that show the versions of a file."""

    diff = switch("With history: show the changed lines.")
    limit = number("With history: only the newest N changes.", "N", least=1, short="n")


class VirtualOptions(Options):
    """Flags of simulations on a virtual fleet."""

    resource = text(
        "Resource kind that the trace and the numbers are in. Default: the only kind in the quota file.", "KIND"
    )
    checkpoint = text("Running time between two checkpoints of a job.", "TIME", default="10m")
    restart = text("Time that a stopped job needs before it works again.", "TIME", default="0s")
    tick = text("Time between two decisions, as with this poll. Default: decide at every change.", "TIME", default="0s")
    big = number("Size from which a job counts as a big gang.", "N", default=16)
    plot = text("Also draw usage, shares and borrowing over time, as one HTML file that needs no network.", "FILE")


class CreateOptions(HostingOptions, LoopOptions):
    """Flags of `bastion create`."""

    name = text("Name of the bastion; the same as --bastion.", "NAME")
    local = switch("Use this machine as the fleet.")
    shared = text(
        "With --local, as root: share the machine among the accounts of this group, or without a group among all."
        " Jobs run as the user who submits them.",
        "GROUP",
        bare="*",
    )
    systemd = switch(
        "With --local, slurm or ray: install the unit that bastion unit prints. systemd then starts the bastion "
        "at boot, and again if it ends."
    )
    reclaim_delay = decimal(
        "Seconds that a project below its share waits for borrowed resources, before running jobs are preempted.",
        "SECONDS",
    )
    permanent_bucket = text("URL of the bucket for logs and outputs. Default: --bucket.", "URL")
    ttl_bucket = text("URL of the bucket for bundles, which expire. Default: --bucket.", "URL")
    policy = text("Scheduling policy: default or axlearn.", "POLICY", choices=("default", "axlearn"))
    partition = text(
        "With --runner=slurm: partition for jobs. Default: the setting, else the cluster's own default.", "PARTITION"
    )
    dashboard = text(
        "With --runner=ray: URL of Ray's dashboard. Default: the setting, else http://127.0.0.1:8265.", "URL"
    )
    run_as = text(
        "Account that jobs run as if root starts the bastion. Default: bastion-job if it exists, else root.",
        "USER",
    )


class StartOptions(DryRunOptions, LoopOptions):
    """Flags of `bastion start`."""

    here = switch("Run the bastion on this machine, even if the settings say that it runs elsewhere.")
    takeover = switch("Take over at once from a bastion that does not answer.")


class StopOptions(DryRunOptions):
    """Flags of `bastion stop`."""

    drain = switch(
        "First wait until every present job has ended. Jobs submitted later are not waited for; they stay pending"
        " until the next start."
    )


class DeleteOptions(DryRunOptions, ConfirmOptions):
    """Flags of `bastion delete`."""

    force = switch("Cancel all jobs and delete all machines first.")
    abandon_machines = switch(
        "With --force, if a runner no longer answers: leave its machines and jobs as they are, and list them."
    )
    purge = switch("Also remove the bastion's objects from the bucket, and the accounts made for it in Google Cloud.")


class DoctorOptions(WhoOptions):
    """Flags of `bastion doctor`."""

    store = text("Check a store instead: test every promise of a bucket in a new folder below this URL.", "URL")
    verify = switch(
        "Check the whole journal instead: is each object as it was when the next one was written? Name the first "
        "that is changed or missing."
    )


class RecoverOptions(WhoOptions, ConfirmOptions):
    """Flags of `bastion recover`."""

    accept_loss = switch(
        "Continue without what is lost. Its numbers are not used again; lost jobs are shown as rejected."
    )
    heal_time = switch(
        "Set the journal's time back to the store's, after a bastion ran with a clock that was ahead. Lists the "
        "effects of the wrong time."
    )


class GcOptions(WhoOptions):
    """Flags of `bastion gc`."""

    bundles_days = number("Days to keep bundles; 0: for ever. Default: the setting, else 30.", "DAYS")
    logs_days = number("Days to keep logs; 0: for ever. Default: the setting, else for ever.", "DAYS")
    outputs_days = number(
        "Days to keep output folders in the bucket; 0: for ever. Default: the setting, else for ever.", "DAYS"
    )
    dry_run = switch("List what would be removed, and remove nothing.")
    print_rules = switch("Print the lifecycle rules for the store.")
    apply_rules = switch("Set these rules in the store. Rules made by others stay.")


class UsageOptions(Options):
    """Flags of `bastion usage`."""

    by = text("Add up by project, user or job.", "WHAT", default="project", choices=("project", "user", "job"))
    since = text("Start of the time window: 30d ago, or 2026-01-31T09:30:00Z.", "TIME", default="30d")
    until = text("End of the time window. Default: now.", "TIME")
    label = FilterOptions.label.but(
        about="Count only jobs with this label. Repeat the flag for jobs with several labels."
    )
    plot = text("Also draw usage over time, as one HTML file that needs no network.", "FILE")
    output = formats(TABLE, CSV, JSON)


class SimulateOptions(VirtualOptions):
    """Flags of `bastion simulate`."""

    policy = text(
        "Policies to simulate: axlearn,default.", "POLICY,...", default="default", choices=("default", "axlearn")
    )
    trace = text("CSV file of the jobs: submit_s,duration_s,gpus,project,user,priority.", "FILE")
    quota = text("Quota file. A user with a job in one of its projects counts as a member of that project.", "FILE")
    capacity = text("Capacity of the fleet: gpu=544. Default: the capacity in the quota file.", "KIND=N,...")
    until = text("Count usage for this long after the first submission: 28d. Default: to the end.", "TIME")


class HistoryOptions(Options):
    """Flags of `bastion history`."""

    since = text("Start of the time window: 30d ago, or 2026-01-31T09:30:00Z.", "TIME", default="1d")


class ReplayOptions(Options):
    """Flags of `bastion replay`."""

    at = text("The last decision at or before this time: 2h ago, 03:00 (UTC), or 2026-01-31T09:30:00Z.", "TIME")
    seq = number("Decisions of this journal object.", "N")
    since = text("Decisions after this time: 30d ago, or 2026-01-31T09:30:00Z.", "TIME", default="1d")
    until = text("Decisions before this time. Default: now.", "TIME")
    all = switch("All recorded decisions.")


class LogsOptions(Options):
    """Flags of `bastion logs`."""

    follow = switch("Continue until Ctrl-C.")
    tail = number("Start with the last N lines.", "N", default=1000)
    console = switch("Print the serial console of its VM, or the output of its pod, instead.")


class QuotaOptions(PastOptions, VirtualOptions, WhoOptions, ConfirmOptions):
    """Flags of `bastion quota`."""

    since = text(
        "With simulate: use the jobs since this time: 30d ago, or 2026-01-31T09:30:00Z.", "TIME", default="30d"
    )
    stop_affected = switch("With set: stop the jobs of users who are not members of their projects.")
    trace = text("With simulate: use the jobs of this CSV file instead, as for bastion simulate.", "FILE")


class ConfigOptions(PastOptions, ConfirmOptions, UserOptions):
    """Flags of `bastion config`."""

    project_id = text("Project of the profile.", "PROJECT")
    user_id = UserOptions.user_id.but(about="User of the profile; with edit and set: user who makes the change.")
    docker_repo = text(
        "Registry and path of images, for the profile. --bundler_spec=image=NAME is then enough.", "HOST/PATH"
    )
