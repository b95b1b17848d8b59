"""A real Linux machine below a worker.

For: workers and the local runner.
Here: processes, control groups, accounts, limits, containers, caches, GPUs, ports, folders.
Imports: `bastion.model`, `bastion.stores`, `bundler`.
"""
