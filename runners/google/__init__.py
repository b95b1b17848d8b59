"""Google's clouds, except storage.

For: machines in Compute Engine and TPU slices, images, and a bastion that lives on a VM.
Here: `api` (calls), `machines` (shared by both runners), `gce`, `tpu`, `hosting`, `images`; `fleet`, their entry.
Imports: `bastion.model`, `bastion.platform`, `bastion.stores`, `bundler`, `quota`, `runners`, `runners.delivery`,
`runners.worker`.
"""
