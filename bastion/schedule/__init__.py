"""The decision: who starts, who stops, and why everybody else waits.

For: the tick, the explanations in `launcher`, and simulations.
Here: `plan` (whose turn), `lifecycle` (what becomes of attempts), `pending` (the index of pending jobs), `eligibility`,
`admission`, placement, usage, the ledger, and `replay` of decisions.
Imports: `model`, `journal`, `quota`. Decisions are pure.
"""
