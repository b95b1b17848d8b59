"""The loop of a bastion, and the work of each turn.

For: `bastion start`, and `tests/simulation`, which runs the same code.
Here: `loop` and `tick`; requests (`request_reader`, `request_queue`, `request_handler`); `reconcile` (desired against
observed); heartbeats and `liveness`; `maintenance` and the types of its results (`task_results`); current faults
(`problems`, `watchdog`).
Imports: `bastion.journal`, `bastion.model`, `bastion.platform`, `bastion.schedule`, `bastion.stores`, `quota`.
"""
