"""What tests share: a bastion in memory, fleets of real processes, servers, terminals, and machines that pretend."""
