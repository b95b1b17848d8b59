"""The runner of Slurm clusters, on a real one."""
