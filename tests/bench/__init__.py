"""What the system costs, measured: `python -m tests.bench [NAME ...]` prints one row for each number that we promise."""
