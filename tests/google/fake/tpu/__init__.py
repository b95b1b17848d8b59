"""Google's TPU API, faked."""
