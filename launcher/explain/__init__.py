"""Explain why a job waits, what would start it, and when it will start.

For: `launch why`, `launch ls`, `bastion top`.
Here: `explanation` (the account of a job), tests on what-if states, forecasts, and `explanation_text` (the words).
Imports: `launcher.read`. Pure: it takes the real decision on values.
"""
