"""The loop of a bastion, and what it does in every turn.

For: `bastion start`, and the simulation, which runs the same code.
Here: `loop` and `tick`; requests in (`inbox`, `mailroom`, `judge`); desired against observed (`reconcile`); heartbeats; chores.
Imports: all of `bastion` but `simulate` and `testing`.
"""
