"""Tests of the decision."""
