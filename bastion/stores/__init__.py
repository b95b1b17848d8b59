"""Buckets: a folder, Google Cloud Storage, S3, memory, and other stores that fsspec knows.

For: all code that reads or writes a bucket.
Here: a file for each store, `opening` (a URL to a bucket), create-once, the seal, what may expire; `conformance` proves
a store.
Imports: `bastion.model`. Libraries of clouds are imported where they are used.
"""
