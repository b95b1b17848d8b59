"""The runner of a Kubernetes cluster: one JobSet for each attempt.

For: groups that have a cluster, with Kueue or without.
Here: `runner`, manifests and listings, the cluster's API, settings, the bastion's own deployment; `fleet`, the entry.
Imports: `bastion.model`, `quota`, `runners`, `runners.delivery`, `runners.google`.
"""
