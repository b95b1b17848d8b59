"""What commands of both tools share.

For: `cli.launch` and `cli.bastion`.
Here: which bastion is meant (`place`, `profile`, `command_context`), which jobs, the user's code, runners, admins' files.
Imports: `cli.terminal`, `launcher`, `bundler`, `runners`.
"""
