"""The runner of a Slurm cluster: one job of Slurm's for each attempt.

For: groups that have a Slurm cluster already.
Here: `runner`, Slurm's commands here or over ssh, parsers of their output, settings, and `fleet`, its entry.
Imports: `bastion.model`, `bastion.platform`, `quota`, `runners`.
"""
