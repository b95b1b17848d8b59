"""The runner of Compute Engine: VMs with GPUs, and without.

For: jobs that ask for VMs.
Here: `runner`, the body of a bulk insertion, listings, placement policies of gangs, deletion, pending creations.
Imports: `bastion.model`, `quota`, `runners.delivery`, `runners.google.api`, `runners.google.machines`.
"""
