"""The suite that every runner must pass, for authors of runners.

For: packages with a runner of their own, and the tests of ours.
Here: `runner_contract` (subclass `RunnerContract`) and its parts, the `stage` that they run on, `fleets` for real
programs.
Imports: `bastion.journal`, `bastion.model`, `bastion.platform`, `bastion.stores`, `quota`.
"""
