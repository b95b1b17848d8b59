"""The runner of an existing Ray cluster: every machine is a job of Ray's.

For: groups that keep a Ray cluster.
Here: `runner`, Ray's Job API, `job_program` (the program on the node), settings, and `fleet`, its entry.
Imports: `bastion.model`, `bastion.platform`, `quota`, `runners`, `runners.local`, `runners.worker`.
"""
