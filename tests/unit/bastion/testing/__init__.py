"""Tests of the suite for runners."""
