"""Commands of `bastion`, in this process."""
