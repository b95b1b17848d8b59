"""The flags of all commands, as typed options.

For: the tables of commands, and the commands themselves.
Here: `shared` (what several commands and both tools have, and a submission), `launch` and `bastion`.
Imports: `bastion.model`, `cli.terminal`.
"""
