"""Show what happened to a job, to a project, to an admin's file.

For: `launch history`, `bastion history`, `bastion replay`.
Here: lines from events, and decisions with their inputs.
Imports: `bastion.journal`, `bastion.model`, `bastion.schedule`, `launcher.read`, `quota`.
"""
