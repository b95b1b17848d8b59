"""Why a job waits, what would start it, and when it will start.

For: `launch why`, `launch ls`, `bastion top`.
Here: `account` (what is known), its tests on supposed states, forecasts, and `telling` (the words).
Imports: `launcher.read`. Pure: it asks the real decision on values.
"""
