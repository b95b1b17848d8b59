"""Tests of stores, beside their contract."""
