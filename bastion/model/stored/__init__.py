"""The objects that lie in a bucket, as typed records.

For: bastion, worker and client, which talk through these objects only.
Here: `events` and the journal's `journal_object`, `requests` of clients, `records` of bastion and worker, and what they say.
Imports: `model`, `model.job`, `model.state`. Pure.
"""
