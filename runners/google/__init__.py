"""Everything of Google's clouds but its storage.

For: machines in Compute Engine and TPU slices, images, and a bastion that lives on a VM.
Here: `api` (calls), `machines` (what both runners share), `gce`, `tpu`, `hosting`, `images`; `fleet`, the entry of both.
Imports: `runners.worker`, `runners.delivery`, `bundler`.
"""
