"""Images, on a real Docker engine and a real registry (tests/support/engine.py)."""
