"""Tests of the parts of buckets."""
