"""A bastion as a client sees it.

For: everything that shows jobs.
Here: `reader` and `view` (one look), finding and selecting jobs, the queue as rows, what is new, and waiting for an end.
Imports: nothing of `launcher` beside times.
"""
