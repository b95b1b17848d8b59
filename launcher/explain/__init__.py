"""Explain why a job waits, what would start it, and when it will start.

For: `launch why`, `launch ls`, `bastion top`.
Here: `explanation` (the account of a job), tests on what-if states, forecasts, and `explanation_text` (the words).
Imports: `bastion.journal`, `bastion.model`, `bastion.schedule`, `launcher.read`, `quota`.
"""
