"""The journal: events in order, and the state that they fold into.

For: the service, which writes it, and everybody who reads a bastion.
Here: `journal` (written), `fold` (applied), `recover`, snapshots, the past, `lost_tail`, tombstones of jobs that left; logs;
`leadership` (who may write).
Imports: `model`, `stores`.
"""
