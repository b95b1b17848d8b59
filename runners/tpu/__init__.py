"""The runner of TPU slices: queued resources of Google's TPU API, one for each attempt."""
