"""What the workers have in common: wiring, failure policy, adapters, and what is pure."""
