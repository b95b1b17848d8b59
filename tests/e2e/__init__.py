"""Tests with real processes, from the command line to the bucket and back."""
