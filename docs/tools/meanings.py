"""What fields and variables mean, where their code says only of which type they are. A test holds it to the code. Pure."""

from __future__ import annotations

from collections.abc import Mapping

SPEC: Mapping[str, tuple[str, str]] = {
    "schema": ("", "Version of this form. A larger one than the reader's is refused with the advice to upgrade"),
    "name": ("name", "What people call the job; need not be unique"),
    "user": ("user_id", "Who asks; has to be the user of the inbox key"),
    "project": ("project_id", "Whose share is used"),
    "command": ("", "Words to run, or one text for the shell"),
    "env": (
        "env",
        "Environment of the command, beside what the worker sets; `secret:NAME` or `secret:projects/…` is a "
        "[secret](../run/secrets.md)",
    ),
    "resources": ("resources", "Amount of each kind, per replica"),
    "instance_type": ("instance_type", "What one replica is, by the name of a machine type"),
    "replicas": ("num_replicas", "Machines or slices that start together or not at all"),
    "alternatives": (
        "",
        "Up to three tables with `resources`, `replicas` and `instance_type`: what would do instead, the better first; see "
        "[choices](../run/choices.md)",
    ),
    "count": ("count", "Tasks of an array"),
    "priority": ("priority", "Order inside the project"),
    "max_tries": ("max_tries", "How often the job may fail by itself"),
    "retry_interval_s": ("retry_interval", "Seconds between a failure and the next try"),
    "grace_s": ("grace", "Seconds between SIGTERM and SIGKILL"),
    "time_limit_s": ("time_limit", "Seconds that one attempt may run; none: for ever"),
    "finish_timeout_s": (
        "finish_timeout",
        "Seconds that the other workers of a gang have once the first has ended with 0; 0: for ever",
    ),
    "crash_guard": (
        "crash_guard",
        "Whether the same error twice, soon and without a checkpoint, ends it, whatever tries are left",
    ),
    "after": ("after", "Ends to wait for, all of them, by the ids of their jobs; see [timing](../run/timing.md)"),
    "begin": ("begin", "It does not start before"),
    "deadline": ("deadline", "What has not ended by then is ended as `TIMEOUT`, and not tried again"),
    "max_parallel": ("max_parallel", "Tasks of an array that hold resources at once; none: as many as fit"),
    "job_class": ("class", "What the quota file may have to grant to the project; see [quota file](quota-file.md)"),
    "max_tier": ("max_tier", "The worst tier that will do; 0 is the best"),
    "labels": ("", "Names and values that people find jobs by, as team=rl; no decision uses them"),
    "bundle": ("bundler_type", "The code: an object of the bucket, or a commit; see [bundles](../run/bundles.md)"),
    "setup": ("setup", "Text for the shell, run once for this code on a machine; empty: none"),
    "shell": (
        "shell",
        "Shell of command texts and setups: `bash` or `sh`; empty: bash where the machine has one, else sh",
    ),
    "output_dir": ("output_dir", "URL or absolute path that outlives attempts; empty: in the bucket"),
    "outputs": (
        "outputs",
        "Globs of files of the working folder that are kept in the output folder; see [outputs](../run/outputs.md)",
    ),
    "checkpoint_dir": ("", "The same for checkpoints; empty: `checkpoints/` in the output folder"),
    "provenance": ("", "Where the job came from: host, commit, version, time. For people, never for decisions"),
}
"""Of a field of the job spec: the flag that sets it, and what it means."""

CONFIG: Mapping[str, str] = {
    "schema": "Version of this form",
    "poll": "Seconds between two ticks",
    "reclaim_delay": "Seconds that a project below its share waits for borrowers to end by themselves",
    "gang_patience": "Seconds that a gang waits, at the least, before what was lent is called in for it",
    "restart_cost": "Seconds of work that a stop is taken to cost, beside the work that was not saved",
    "usage_half_life": "Seconds after which past use counts half between the users of a project; 0: it does not count",
    "policy": "How jobs are scheduled; see [scheduling](../explanation/scheduling.md)",
    "runners": "Which backends give machines; a job goes to the first that has all the kinds it wants",
    "placing": "Runner by kind or instance type, or one for each tier; see [several runners](../fleets/several-runners.md)",
    "runner_options": "For each runner a table of its own; see [write a runner](../extend/write-a-runner.md)",
    "run_as": (
        "Account that jobs run as where root starts the workers; empty: `bastion-job` if the machine has it, else root; "
        "see [secrets](../run/secrets.md)"
    ),
    "job_limits": (
        "What one worker's processes may use together: `memory` (GiB, 0: what the job asks for), `processes` with threads "
        "(16384), and each of them `open_files` (65536); see [limits](../operate/job-limits.md)"
    ),
    "admins": "Users who may stop everybody's jobs and delete the bastion",
    "capacity": "What the runners may give away, by kind; empty: what they find",
    "buckets": "URLs of the buckets for logs and outputs (`permanent`) and for bundles (`ttl`), where these are others",
    "retention": "Days that bundles (`bundles_days`, 30), logs (`logs_days`) and output folders in the bucket "
    "(`outputs_days`) are kept; 0: for ever",
    "git": "Files on the machines for private repositories: `deploy_key`, `known_hosts`; see [bundles](../run/bundles.md)",
    "limits": (
        "At the most: jobs that have not ended (`jobs`), their tasks (`tasks`), requests a day (`requests`) and the bytes "
        "of these (`request_bytes`, to 10^12), of all users and of each (`..._per_user`)"
    ),
    "default_shell": "Shell of jobs whose user names none: `bash` or `sh`; empty: bash where the machine has one, else sh",
    "docker_repo": "Registry and path of images that name no registry, as `docker.io/team`; a profile's `docker_repo` wins",
    "shared": (
        "Group of the accounts that share this machine, `*` for all: jobs run as who submits them; `bastion create --local "
        "--shared` sets it, and the modes of the folder; see [security](../security.md)"
    ),
    "private_logs": "On a shared machine: whether logs and outputs can be read by their own account alone",
    "google": "Where and how the runners `tpu` and `gce` have machines; see [Google Cloud](../fleets/google.md)",
}
"""Of a key of `config.toml`."""

ENVIRONMENT: Mapping[str, str] = {
    "BASTION_JOB": "Id of the job",
    "BASTION_JOB_NAME": "Its name",
    "BASTION_USER": "Whose it is",
    "BASTION_PROJECT": "Whose share it uses",
    "BASTION_TASK": "Number of this task in its array, from 0",
    "BASTION_TASK_COUNT": "Tasks of the array",
    "BASTION_ATTEMPT": "Number of this attempt, from 0",
    "BASTION_RESTART_REASON": "Why this attempt is made: `first`, `failure`, `preempted`, `node_lost` or `user`",
    "BASTION_LAST_STEP": "The last step that an attempt before reported; absent if none did",
    "BASTION_TIER": "Tier of the pool that it runs on, from 0",
    "BASTION_BUNDLE": "Digest of its code, or the commit",
    "BASTION_MACHINE": "The machine, by the backend's own id",
    "BASTION_DEVICES": "GPUs of this process, as `CUDA_VISIBLE_DEVICES` has them",
    "BASTION_OUTPUT_DIR": "Folder or URL that outlives attempts",
    "BASTION_CHECKPOINT_DIR": "The same, for checkpoints",
    "BASTION_PROGRESS_FILE": (
        'Append `{"step": 12, "checkpoint": true}` and a newline, and commands show how far it is; '
        "who loses least is stopped first"
    ),
    "BASTION_WORLD_FILE": "JSON with the addresses of all workers of the gang",
    "BASTION_WORKER_INDEX": "Number of this worker in the gang, from 0",
    "BASTION_WORKER_COUNT": "Workers of the gang",
    "BASTION_REPLICA_INDEX": "Number of the replica that this worker is part of",
    "BASTION_REPLICA_COUNT": "Replicas of the gang",
    "BASTION_PROCESS_INDEX": "Number of this worker in its replica, from 0",
    "BASTION_PROCESS_COUNT": "Workers of a replica: its hosts",
    "BASTION_ROLE": "default: all workers of a job have the same role",
    "RANK": "The worker's number, as `torch.distributed` reads it",
    "WORLD_SIZE": "Workers of the gang",
    "LOCAL_RANK": "0: one process a worker",
    "LOCAL_WORLD_SIZE": "1",
    "GROUP_RANK": "The worker's number",
    "GROUP_WORLD_SIZE": "Workers of the gang",
    "ROLE_RANK": "The worker's number",
    "ROLE_WORLD_SIZE": "Workers of the gang",
    "ROLE_NAME": "default",
    "NODE_RANK": "The worker's number",
    "NODE_NUM": "Workers of the gang",
    "NODE_IP": "Address of this worker, as the others of the gang reach it",
    "NNODES": "Workers of the gang",
    "MASTER_ADDR": "Address of worker 0",
    "MASTER_PORT": "A port that was free there, as were the two below it",
    "JAX_COORDINATOR_ADDRESS": "The same two in one, as `jax.distributed` reads it",
    "JAX_NUM_PROCESSES": "Workers of the gang",
    "JAX_PROCESS_ID": "The worker's number",
    "TPU_WORKER_ID": "On TPUs: number of this host in its slice, from 0",
    "TPU_WORKER_HOSTNAMES": "On TPUs: addresses of the slice's hosts, in their order",
    "MEGASCALE_COORDINATOR_ADDRESS": "On several TPU slices: where they are joined",
    "MEGASCALE_PORT": "On several TPU slices: the port of that",
    "MEGASCALE_NUM_SLICES": "On several TPU slices: how many",
    "MEGASCALE_SLICE_ID": "On several TPU slices: number of this one, from 0",
    "TORCHELASTIC_RUN_ID": "Id of the job",
    "TORCHELASTIC_RESTART_COUNT": "Number of the attempt",
    "TORCHELASTIC_MAX_RESTARTS": "`--max_tries` less one",
    "CUDA_VISIBLE_DEVICES": "GPUs of this process; empty: none",
    "CUDA_DEVICE_ORDER": "`PCI_BUS_ID`, so that numbers mean the same to all programs",
    "TMPDIR": "A folder of the attempt, removed after it",
    "PYTHONUNBUFFERED": "`1`, so that lines are in the log when they are printed",
    "NCCL_DEBUG": "`WARN`",
    "TORCH_NCCL_ASYNC_ERROR_HANDLING": "`1`",
}
"""Of a variable that a process finds. What the account has (PATH, HOME, USER, LANG) comes first."""

LEFT_OUT: Mapping[str, str] = {
    "`BASTION_GLOBAL_PROCESS_INDEX`, `BASTION_GLOBAL_PROCESS_COUNT`": (
        "A worker has one process, so these are `BASTION_WORKER_INDEX` and `BASTION_WORKER_COUNT`"
    ),
    "`BASTION_NODE`": "It is `BASTION_MACHINE`",
    "`BASTION_POOL`": "A bastion has one pool; its parts are told by `BASTION_TIER`",
    "`TPU_VISIBLE_CHIPS`": "A worker has all chips of its host",
    "`ROCR_VISIBLE_DEVICES`, `ASCEND_RT_VISIBLE_DEVICES`": (
        "Workers divide GPUs of NVIDIA only; of others, a process finds what the machine has"
    ),
}
"""Of variables that other launchers set, and a process of ours does not find: why."""
