"""The two tools, `launch` and `bastion`.

For: people at a terminal, and scripts.
Here: `launch` and `bastion` (a file for each command), `common` (what both share), `hosting`, `terminal` (flags,
    tables, help).
Imports: everything; nothing imports it.
"""
