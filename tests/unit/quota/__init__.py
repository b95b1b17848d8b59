"""Tests of the quota room."""
