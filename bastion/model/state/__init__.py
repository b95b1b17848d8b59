"""The state of all jobs: the result of folding the journal.

For: the fold that changes it, and everybody who reads it.
Here: `state` (jobs, tasks, attempts), `transitions` (which state may follow which), and the indices that the state
    holds.
Imports: `bastion.model`, `quota`.
"""
