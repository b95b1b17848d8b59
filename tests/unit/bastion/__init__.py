"""Tests of the bastion room."""
