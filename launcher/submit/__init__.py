"""Turn what a user asks for into requests in the bucket.

For: `launch`, `launch update`, `launch stop` and everything else that asks for something.
Here: `build` (options to a spec), spec files, profiles and settings, provenance, and `sending`, which writes requests.
Imports: `bastion.journal`, `bastion.model`, `bastion.schedule`, `bastion.stores`, `launcher.read`, `quota`.
"""
