"""Simulate a policy: the real policy and the real state machine on a computed clock and fleet.

For: `bastion simulate`, `bastion quota simulate`, and the tests of the policy.
Here: `simulated_run`, `simulation`, `virtual_fleet` and `workload`; `trace` and `from_journal` (where jobs come from);
`summary` and `simulation_report`.
Imports: `bastion.journal`, `bastion.model`, `bastion.schedule`, `quota`.
"""
