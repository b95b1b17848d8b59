"""The program on the machine: claim, fetch, run, beat, flush."""
