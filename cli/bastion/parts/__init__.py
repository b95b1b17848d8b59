"""Parts of `bastion` commands that are longer than one file.

For: `cli.bastion`.
Here: parts of create, config, quota, doctor, gc, recover, simulate, top and usage.
Imports: `bastion.journal`, `bastion.model`, `bastion.platform`, `bastion.schedule`, `bastion.service`,
`bastion.simulate`, `bastion.stores`, `cli.common`, `cli.options`, `cli.terminal`, `launcher`, `quota`.
"""
