"""Tests of the bundler."""
