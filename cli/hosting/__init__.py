"""The places where a bastion can run: this machine, a VM of Google's, a Kubernetes cluster.

For: the commands of `bastion` that make, find or end one.
Here: the choice of the place (`where`), each kind of hosting, its rights, and `loop_parts` (what its loop works with).
Imports: `bastion.model`, `bastion.platform`, `bastion.service`, `cli.common`, `cli.options`, `cli.terminal`, `runners`.
"""
