"""Whose turn it is, and what is taken back from whom.

For: the schedule and simulations, which know it by `interface`.
Here: `scheduler` (the default policy and its parts), `axlearn` (the incumbent's), and the words for why a job waits.
Imports: `quota`. Pure.
"""
