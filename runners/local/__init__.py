"""This machine as the fleet."""
