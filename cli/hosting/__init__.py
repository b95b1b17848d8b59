"""Where a bastion lives: here, on a VM of Google's, in a Kubernetes cluster.

For: the commands of `bastion` that make, find or end one.
Here: which way is meant (`where`), each way, the rights that it has, and `loop_parts` (what its loop works with).
Imports: `cli.common`, `runners`.
"""
