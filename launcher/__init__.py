"""The user's side: submit a job, look at it, understand why it waits, read its logs.

For: the commands of `launch`, and for programs that submit jobs.
Here: `submit`, `read` (views of a bastion), `explain` (why, what-if, forecast), `logs`, `history`, `access` (rights).
Imports: `quota`, `bundler`, and of `bastion` all but `service` and `simulate`. Never a runner.
"""
