"""Check the rights on a bucket, and the health of a bastion.

For: `bastion doctor` and `bastion top`.
Here: rights by the store's policy and its conditions; checks of health.
Imports: `bastion.model`. Pure.
"""
