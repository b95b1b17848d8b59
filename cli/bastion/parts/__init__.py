"""What commands of `bastion` consist of, where that is more than one file.

For: `cli.bastion`.
Here: parts of create, config, quota, doctor, gc, recover, simulate, top and usage.
Imports: `cli.common`, `cli.terminal`, `cli.hosting`.
"""
