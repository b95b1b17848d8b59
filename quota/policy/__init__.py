"""Whose turn it is, and what is taken back from whom.

For: the schedule and simulations, through the interface in `policy`.
Here: `scheduler` (the default policy and its parts), `axlearn` (the incumbent's), and the words for why a job waits.
Imports: `quota`. Pure.
"""
