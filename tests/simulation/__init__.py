"""The whole system on a simulated bucket, clock and fleet: one seed is one story.

For: `make simulate`, `make soak`, `make crashes`, and the tests of laws.
Here: `world`, `chaos` and those who act in it; `laws` (what must hold), `crashes` (all crashes of a scenario), `parts`.
Imports: the product, as it is.
"""
