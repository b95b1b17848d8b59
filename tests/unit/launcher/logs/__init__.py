"""Tests of following logs."""
