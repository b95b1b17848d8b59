"""Read what tasks print from the bucket, and follow it.

For: `launch logs` and `launch --follow`.
Here: the streams of an attempt, following a task over its attempts, arrays as one log, lines of the bastion's own log.
Imports: `bastion.journal`, `bastion.model`, `launcher.read`.
"""
