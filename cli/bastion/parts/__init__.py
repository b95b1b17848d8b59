"""Parts of `bastion` commands that are longer than one file.

For: `cli.bastion`.
Here: parts of create, config, quota, doctor, gc, recover, simulate, top and usage.
Imports: `cli.common`, `cli.terminal`, `cli.hosting`.
"""
