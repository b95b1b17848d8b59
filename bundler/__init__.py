"""The user's code, packed under a name made of its content."""
