"""Backends that give machines to attempts, and the worker that runs on every machine."""
