"""The scheduler: job specs, the journal, and the loop that divides the fleet."""
