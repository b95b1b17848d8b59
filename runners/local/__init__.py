"""The runner whose fleet is this machine.

For: `bastion create --local` and machines that people own.
Here: `runner`, the registry of started machines and its guard, GPUs, marks of processes, and `fleet`, its entry.
Imports: `bastion.model`, `bastion.platform`, `quota`, `runners`, `runners.worker`.
"""
