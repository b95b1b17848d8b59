"""A bastion from its creation to its end, by real processes."""
