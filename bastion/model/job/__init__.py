"""The job that a user asks for: the job spec and its parts.

For: clients that write a spec, and the bastion that reads it.
Here: `spec` and its parts: code, command, image, conditions, instances, alternatives, secrets; `spec_changes` of a
    spec.
Imports: `bastion.model`, `quota`. Pure.
"""
