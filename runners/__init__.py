"""Backends that give machines to attempts: one folder for each kind of fleet, and the worker that runs on every machine.

For: the loop, which asks runners for machines, through the interface in `bastion.model.interfaces`.
Here: `local`, `slurm`, `kubernetes`, `ray`, `google`; `worker`; `delivery` (how the worker gets to a machine); `programs`.
Imports: `bastion.journal`, `bastion.model`, `bastion.platform`, `bastion.stores`, `bundler`, `quota`.
"""
