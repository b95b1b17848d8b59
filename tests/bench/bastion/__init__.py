"""What a bastion costs."""
