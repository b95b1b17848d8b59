"""Why a job waits, what would start it, and when it will start.

For: `launch why`, `launch ls`, `bastion top`.
Here: `explanation` (what is known), its tests on supposed states, forecasts, and `explanation_text` (the words).
Imports: `launcher.read`. Pure: it asks the real decision on values.
"""
