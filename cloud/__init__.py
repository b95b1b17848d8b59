"""The bastion's own machine in Google's cloud: of what it consists, what it may do and costs, and how it is made."""
