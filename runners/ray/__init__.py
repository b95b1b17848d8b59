"""The runner of a Ray cluster that is there already: every machine is one Ray job, through Ray's Job API."""
