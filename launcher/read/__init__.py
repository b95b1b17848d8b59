"""Read a bastion from the bucket, as its clients do.

For: everything that shows jobs.
Here: `reader` and `view` (one look), finding and selecting jobs, `job_rows` (the queue), why jobs are pending, and waiting.
Imports: `bastion.journal`, `bastion.model`, `bastion.schedule`, `quota`.
"""
