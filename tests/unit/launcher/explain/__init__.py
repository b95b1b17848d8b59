"""Tests of why a job waits."""
