"""The user's code, packed and named by its content.

For: `launch`, which packs, and workers, which unpack.
Here: `tar` and `git`, which bring code to a bucket or name a commit; `image`; what is left out; unpacking and checkout.
Imports: `bastion.model`.
"""
