"""The runner of TPU slices: one queued resource for each attempt.

For: jobs that ask for TPUs.
Here: `runner`, the body of a queued resource, listings, deletion, pending creations.
Imports: `bastion.model`, `quota`, `runners.delivery`, `runners.google.api`, `runners.google.machines`.
"""
