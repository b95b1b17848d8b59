"""One suite for each door, to be passed by everything behind it."""
