"""The policies: which job starts next, and which attempts are stopped for it.

For: the schedule and simulations, which use it through `interface`.
Here: `scheduler` (the default policy and its parts), `axlearn` (the incumbent's), and `reasons` (why a job waits).
Imports: `quota`. Pure.
"""
