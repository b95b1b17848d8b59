"""Code that commands of both tools share.

For: `cli.launch` and `cli.bastion`.
Here: the bastion of a call (`place`, `command_context`, `bastion_alive`), its jobs, the user's code, runners, admins' files.
Imports: `bastion.journal`, `bastion.model`, `bastion.platform`, `bastion.schedule`, `bastion.service`,
`bastion.stores`, `bundler`, `cli.options`, `cli.terminal`, `launcher`, `runners`.
"""
