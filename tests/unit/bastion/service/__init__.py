"""Tests of the loop, one turn at a time."""
