"""A fake cluster: see `tests.kubernetes`."""
