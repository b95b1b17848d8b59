"""The two tools, `launch` and `bastion`.

For: people at a terminal, and scripts.
Here: `launch` and `bastion` (a file for each command), `common` (what both share), `hosting`, `terminal` (flags,
    tables, help).
Imports: `bastion.journal`, `bastion.model`, `bastion.platform`, `bastion.schedule`, `bastion.service`,
`bastion.simulate`, `bastion.stores`, `bundler`, `launcher`, `quota`, `runners`.
"""
