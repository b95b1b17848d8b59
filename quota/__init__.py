"""Capacity, shares and policies: how much the fleet holds, and which project goes next.

For: the schedule, which asks it for every decision.
Here: projects, shares, tiers and amounts as values; the file quota.toml; `policy` (the decision).
Imports: nothing of ours. Pure.
"""
