"""Parts of `launch` commands that are longer than one file.

For: `cli.launch`.
Here: submissions as data, spec files, workers of a run without a bastion, names for completion.
Imports: `bastion.model`, `bastion.platform`, `bastion.stores`, `cli.common`, `cli.options`, `cli.terminal`, `launcher`.
"""
