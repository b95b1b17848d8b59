"""What the runners of Google's machines share: how a machine gets the worker, and starts it."""
