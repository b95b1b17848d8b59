"""What tasks print, followed from the bucket.

For: `launch logs` and `launch --follow`.
Here: the streams of an attempt, following a task over its attempts, arrays as one log, lines of the bastion's own log.
Imports: `launcher.read`.
"""
