"""Tests, by distance from the code."""
