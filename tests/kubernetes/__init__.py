"""The runner kubernetes, against a fake cluster with real HTTP and the real schemas, whose pods are processes."""
