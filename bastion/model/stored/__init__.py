"""The objects in a bucket, as typed records.

For: bastion, worker and client; they communicate only through these objects.
Here: `events` and the journal's `journal_object`, `requests` of clients, `records` of bastion and worker, and their
    parts.
Imports: `bastion.model`. Pure.
"""
