"""Google's door, and the runners on Google's machines."""
