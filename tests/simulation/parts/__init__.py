"""What a simulated world is made of.

For: worlds and crashes.
Here: `kernel` (virtual time), `store`, `host`, `fleet`, the `plan` of a seed, the `trace` of what happened.
Imports: the product.
"""
