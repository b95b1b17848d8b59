"""Tests of the worker's parts."""
