"""Tests of what a user asks for."""
