"""Tests of rights and health."""
