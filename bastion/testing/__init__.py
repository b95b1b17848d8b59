"""The suite that every runner passes, for those who write one.

For: packages with a runner of their own, and the tests of ours.
Here: `runner_contract` (subclass `RunnerContract`) and its parts, the `stage` that they play on, `fleets` for real programs.
Imports: `model`, `stores`, `quota`; pytest.
"""
