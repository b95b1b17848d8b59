"""Calls to Google's APIs: one interface, and the meaning of each refusal.

For: everything in `runners.google`.
Here: `interface`, the real `client`, the login, failures, rates, long operations, Cloud Build.
Imports: `bastion.model`, `bastion.stores`.
"""
