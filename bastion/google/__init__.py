"""Google's clouds beside its storage: one door for every call, what refusals mean, and how often we may ask."""
