"""How much there is, and whose turn it is.

For: the schedule, which asks it for every decision.
Here: projects, shares, tiers and amounts as values; the file quota.toml; `policy` (the decision).
Imports: nothing of ours. Pure.
"""
