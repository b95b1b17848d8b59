"""The whole system on a simulated bucket, clock and fleet: one seed is one run, and laws are checked at every step."""
