"""What would have been: the real policy and the real state machine on a computed clock and fleet.

For: `bastion simulate`, `bastion quota simulate`, and the tests of the policy.
Here: `run` (one run), `world`, `fleet` and `work` (what is computed), `trace` and `replay` (where jobs come from), the report.
Imports: `model`, `journal`, `schedule`, `quota`. Pure but for what a run changes of itself.
"""
