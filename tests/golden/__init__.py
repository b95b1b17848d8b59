"""Small buckets as released versions left them, for ever readable; `python -m tests.golden` records that of this one."""
