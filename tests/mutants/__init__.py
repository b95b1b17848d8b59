"""Bugs planted in our own code, one patch file each, and what has to catch them: `make mutants`."""
