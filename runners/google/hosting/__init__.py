"""A bastion on a machine of its own in Google's cloud.

For: `bastion create --gcp_project` and the commands that look after such a bastion.
Here: its parts, rights, steps, prices, its start-up script, the same as Terraform, and a client that only looks.
Imports: `bastion.model`, `runners`, `runners.google.api`.
"""
