"""The delivery of the worker to a machine that has nothing of ours.

For: machines of Google's and pods.
Here: `archive` (the worker as one file), what it needs (`worker_dependencies`, `installation`), `archive_cache`,
    `bootstrap`.
Imports: `bastion.model`, `bastion.stores`.
"""
