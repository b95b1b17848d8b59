"""The settings of a bastion: config.toml, checked.

For: the service, the runners and the commands that write them.
Here: `config`, with the tables for machines, runners, limits and Google's clouds.
Imports: `bastion.model`, `quota`. Pure.
"""
