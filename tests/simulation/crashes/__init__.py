"""Recorded scenarios, played again with a crash before and after every call.

For: `make crashes`.
Here: scenarios (`stories`, `upheavals`), one play, all its crashes, and whether it ended as one could have.
Imports: `tests.simulation`.
"""
