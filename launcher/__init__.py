"""The user's side: submit a job, look at it, understand why it waits, read its logs.

For: the commands of `launch`, and for programs that submit jobs.
Here: `submit`, `read` (views of a bastion), `explain` (why, what-if, forecast), `logs`, `history`, `access` (rights).
Imports: `bastion.journal`, `bastion.model`, `bastion.schedule`, `bastion.stores`, `quota`. Never a runner.
"""
