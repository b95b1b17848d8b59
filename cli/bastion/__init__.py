"""The commands of `bastion`, a file each.

For: `bastion.__main__`, through the table in `tool`.
Here: `tool` (commands and flags as data), and a file for each command, with a function `run()`.
Imports: `bastion.journal`, `bastion.model`, `bastion.platform`, `bastion.schedule`, `bastion.service`,
`bastion.simulate`, `bastion.stores`, `cli.common`, `cli.hosting`, `cli.options`, `cli.terminal`, `launcher`, `quota`,
`runners`.
"""
