"""The program on the machine: it claims its place, fetches the code, runs the command, sends heartbeats and reports.

For: every runner; the worker does the same everywhere.
Here: `run` and its steps, `interfaces` to its surroundings, output, secrets, reports; `linux` (the real machine).
Imports: `bastion.journal`, `bastion.model`, `bastion.platform`, `bastion.stores`, `bundler`.
"""
