"""Tests of the user's side."""
