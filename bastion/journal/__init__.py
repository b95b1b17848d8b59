"""The journal: events in order, and the state that they fold into.

For: the service, which writes it, and all programs that read a bastion.
Here: `journal` (writes it), `fold` (applies it), `recover`, snapshots, the past, `lost_tail`, tombstones of jobs that
left; logs; `leadership` (which bastion may write).
Imports: `bastion.model`, `bastion.stores`, `quota`.
"""
