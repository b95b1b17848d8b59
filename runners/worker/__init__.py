"""The program on the machine: claim, fetch, run, beat, report.

For: every runner; what it does is the same everywhere.
Here: `run` and its steps, `interfaces` to its surroundings, output, secrets, reports; `linux` (the real machine).
Imports: `bastion.model`, `bastion.stores`, `bastion.journal.logs`, `bundler`.
"""
