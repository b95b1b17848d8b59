"""Compute Engine, faked."""
