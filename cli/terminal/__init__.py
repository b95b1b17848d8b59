"""Command lines and terminals, for any tool.

For: every command.
Here: `main`, flags and their parser, help, completion, tables, charts, questions, an editor, signals.
Imports: `bastion.model`, `bastion.platform`, `bastion.schedule`, `runners`.
"""
