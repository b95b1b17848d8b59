"""The decision: which jobs start, which attempts stop, and why all other jobs wait.

For: the tick, the explanations in `launcher`, and simulations.
Here: `plan` (starts, stops and reasons), `lifecycle` (what becomes of attempts), `pending` (the index of pending jobs),
`eligibility`, `admission`, placement, usage, the ledger, and `replay` of decisions.
Imports: `bastion.journal`, `bastion.model`, `quota`. Decisions are pure.
"""
