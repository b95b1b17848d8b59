"""The parts that the runners of Google's machines share.

For: `gce` and `tpu`, and the worker on such a machine.
Here: names and labels, zones, pending creations, whether a machine exists, metadata, secrets and image credentials.
Imports: `bastion.model`, `quota`, `runners.delivery`, `runners.google.api`, `runners.worker`.
"""
