"""The laws of the simulation: what must hold, whatever happens.

For: worlds and crashes, which check it at every step.
Here: `laws` (all of them) and a file for each subject.
Imports: `tests.simulation.parts`, the product.
"""
