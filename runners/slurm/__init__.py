"""Nodes that a Slurm cluster gives, one of its jobs for each attempt."""
