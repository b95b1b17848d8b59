"""What plays the pages, writes the reference, records the session of the README, and builds the site."""
