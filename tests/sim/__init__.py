"""A simulated world: time, bucket, machines and bad luck from one seed."""
