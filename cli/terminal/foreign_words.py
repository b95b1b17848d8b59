"""Words that people know from other tools, with their meaning here. Pure."""

from __future__ import annotations

from .flags import WORD, Foreign

LAUNCH_WORDS = Foreign(
    commands={"cancel": "stop", "kill": "stop", "list": "ls", "jobs": "ls", "start": "", "submit": ""},
    answers={
        "status": "launch ls shows your jobs, launch why JOB why one is where it is, bastion status the bastion",
        "queue": "launch ls --all shows everybody's jobs",
        "describe": "launch show JOB says all that is known of a job",
        "delete": "launch stop JOB ends a job; what it left stays until bastion gc removes it",
        "exec": "launch ssh JOB -- COMMAND runs one beside a job",
    },
    flags={
        "job_name": ("name", WORD),
        "name": (WORD,),
        "job_id": (WORD,),
        "project": ("project_id",),
        "num_nodes": ("num_replicas",),
    },
)

BASTION_WORDS = Foreign(
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
