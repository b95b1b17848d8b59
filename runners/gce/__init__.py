"""The runner of VMs with GPUs, and of VMs without: Google's Compute Engine, one bulk insertion for each attempt."""
