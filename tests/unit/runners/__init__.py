"""Tests of runners' values."""
