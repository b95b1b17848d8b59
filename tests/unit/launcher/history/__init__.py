"""Tests of what happened."""
