"""Calls to Google's APIs: one interface, and what refusals mean.

For: everything in `runners.google`.
Here: `interface`, the real `client`, login, failures, rates, long operations, Cloud Build.
Imports: `bastion.model`, and the retries of `bastion.stores`.
"""
