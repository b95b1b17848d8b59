"""What fields and variables mean, where their code says only of which type they are. A test holds it to the code. Pure."""

from __future__ import annotations

from collections.abc import Mapping

SPEC_PAGES: Mapping[str, str] = {
    "env": "[secrets](../run/secrets.md)",
    "alternatives": "[choices](../run/choices.md)",
    "after": "[timing](../run/timing.md)",
    "job_class": "[quota file](quota-file.md)",
    "bundle": "[bundles](../run/bundles.md)",
    "outputs": "[outputs](../run/outputs.md)",
}
"""The page that says more about a field of the job spec. What a field means stands at its declaration."""

CONFIG: Mapping[str, str] = {
    "schema": "Version of this form",
    "poll": "Seconds between two ticks",
    "reclaim_delay": "Seconds that a project below its share waits for borrowers to end by themselves",
    "gang_patience": "Half of the seconds after which a large job takes back what was lent; see docs/explanation/scheduling.md",
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
    "BASTION_TIER": "Tier that it runs in, from 0; 0 is the best",
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
    "`BASTION_POOL`": "A bastion has one fleet; its tiers are told by `BASTION_TIER`",
    "`TPU_VISIBLE_CHIPS`": "A worker has all chips of its host",
    "`ROCR_VISIBLE_DEVICES`, `ASCEND_RT_VISIBLE_DEVICES`": (
        "Workers divide GPUs of NVIDIA only; of others, a process finds what the machine has"
    ),
}
"""Of variables that other launchers set, and a process of ours does not find: why."""
