"""The journal: events in order, and the state that they fold into.

For: the service, which writes it, and everybody who reads a bastion.
Here: writing, folding, recovery, snapshots, healing, the past, traces of jobs that left; logs; who may write (`standing`).
Imports: `model`, `stores`.
"""
