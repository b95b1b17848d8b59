"""Who may do what in a bucket, and whether a bastion is well.

For: `bastion doctor` and `bastion top`.
Here: rights by the store's policy and its conditions; checks of health.
Imports: nothing of `launcher` beside times. Pure.
"""
