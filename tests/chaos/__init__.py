"""Real processes, killed and stopped at random while jobs write lines: what must hold afterwards."""
