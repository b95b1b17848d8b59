"""Recorded scenarios, played again with a crash before and after every call of every process to the world outside of it."""
