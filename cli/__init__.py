"""Words on the terminal, and the wiring."""
