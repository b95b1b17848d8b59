"""What happened: to a job, to a project, to an admin's file.

For: `launch history`, `bastion history`, `bastion replay`.
Here: lines from events, and decisions with what they rested on.
Imports: `launcher.read`.
"""
