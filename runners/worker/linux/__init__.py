"""A real Linux machine below a worker.

For: workers and the local runner.
Here: processes, control groups, accounts, limits, containers, caches, GPUs, ports, folders.
Imports: `bundler`, to lay out code. Nothing of the worker's steps.
"""
