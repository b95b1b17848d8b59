"""What would have been: the real policy and the real state machine on a virtual fleet, with a virtual clock."""
