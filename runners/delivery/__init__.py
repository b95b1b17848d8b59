"""How the worker gets to a machine that has nothing of ours.

For: machines of Google's and pods.
Here: `archive` (the worker as one file), its dependencies (`closure`, `installation`), the last build (`kept`), `boot`.
Imports: `bastion.model`, `bastion.stores`.
"""
