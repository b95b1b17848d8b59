"""Tests of the runner ray, on a real Ray."""
