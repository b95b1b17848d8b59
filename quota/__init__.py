"""How much there is, and whose turn it is. Imports nothing of ours; no I/O, no clock."""
