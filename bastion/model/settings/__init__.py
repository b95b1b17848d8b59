"""The settings of a bastion: config.toml, checked.

For: the service, the runners and the commands that write them.
Here: `config`, its `tables` (machines, runners, limits, Google's clouds), and what counts against the limits of users.
Imports: `bastion.model`, `quota`. Pure.
"""
