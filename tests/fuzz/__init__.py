"""Bad inputs, generated and mutated: whatever a stranger writes is a value or one of our errors."""
