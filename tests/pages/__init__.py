"""The pages are played, and the site that is built of them is looked at in a browser."""
