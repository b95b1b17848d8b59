"""Tests of what a client sees."""
