"""The promises of every store, as checks that can be run against any of them.

For: `bastion doctor --store`, `bastion create`, and the contract tests.
Here: `promises` to one client, `races` between many, `bench` (where they are tried), `suite` (all of them).
Imports: `bastion.model`.
"""
