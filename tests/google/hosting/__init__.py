"""A bastion that lives on a VM of the fake cloud."""
