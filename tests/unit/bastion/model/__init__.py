"""Tests of what is stored and said."""
