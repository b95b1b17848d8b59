"""What fields and variables mean, where their code says only of which type they are. A test holds it to the code. Pure."""

from __future__ import annotations

from collections.abc import Mapping

SPEC: Mapping[str, tuple[str, str]] = {
    "schema": ("", "Version of this form. A larger one than the reader's is refused with the advice to upgrade"),
    "name": ("name", "What people call the job; need not be unique"),
    "user": ("user_id", "Who asks; has to be the user of the inbox key"),
    "project": ("project_id", "Whose share is used"),
    "command": ("", "Words to run, or one text for `/bin/sh`"),
    "env": ("env", "Environment of the command, beside what the worker sets"),
    "resources": ("resources", "Amount of each kind, per replica"),
    "instance_type": ("instance_type", "What one replica is, by the name of a machine type"),
    "replicas": ("num_replicas", "Machines or slices that start together or not at all"),
    "count": ("count", "Tasks of an array"),
    "priority": ("priority", "Order inside the project"),
    "max_tries": ("max_tries", "How often the job may fail by itself"),
    "retry_interval_s": ("retry_interval", "Seconds between a failure and the next try"),
    "grace_s": ("grace", "Seconds between SIGTERM and SIGKILL"),
    "time_limit_s": ("time_limit", "Seconds that one attempt may run; none: for ever"),
    "bundle": ("bundler_type", "The code: `type`, `key` of the object, `digest`"),
    "output_dir": ("output_dir", "URL or absolute path that outlives attempts; empty: in the bucket"),
    "checkpoint_dir": ("", "The same for checkpoints; empty: `checkpoints/` in the output folder"),
    "provenance": ("", "Where the job came from: host, commit, version, time. For people, never for decisions"),
}
"""Of a field of the job spec: the flag that sets it, and what it means."""

CONFIG: Mapping[str, str] = {
    "schema": "Version of this form",
    "poll": "Seconds between two ticks",
    "reclaim_delay": "Seconds that a project below its share waits for borrowers to end by themselves",
    "policy": "How jobs are scheduled; see [scheduling](../explanation/scheduling.md)",
    "runner": "Which backend gives machines",
    "admins": "Users who may stop everybody's jobs and delete the bastion",
    "capacity": "What the runner may give away, by kind; empty: what it finds",
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
    "BASTION_BUNDLE": "Digest of its code",
    "BASTION_MACHINE": "The machine, by the backend's own id",
    "BASTION_DEVICES": "GPUs of this process, as `CUDA_VISIBLE_DEVICES` has them",
    "BASTION_OUTPUT_DIR": "Folder or URL that outlives attempts",
    "BASTION_CHECKPOINT_DIR": "The same, for checkpoints",
    "BASTION_PROGRESS_FILE": 'Append `{"step": 12, "checkpoint": true}` and a newline, and commands show how far it is',
    "BASTION_WORLD_FILE": "JSON with the addresses of all workers of the gang",
    "BASTION_WORKER_INDEX": "Number of this worker in the gang, from 0",
    "BASTION_WORKER_COUNT": "Workers of the gang",
    "BASTION_REPLICA_INDEX": "Number of the replica that this worker is part of",
    "BASTION_REPLICA_COUNT": "Replicas of the gang",
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
    "NNODES": "Workers of the gang",
    "MASTER_ADDR": "Address of worker 0",
    "MASTER_PORT": "A port that was free there",
    "JAX_COORDINATOR_ADDRESS": "The same two in one, as `jax.distributed` reads it",
    "JAX_NUM_PROCESSES": "Workers of the gang",
    "JAX_PROCESS_ID": "The worker's number",
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
