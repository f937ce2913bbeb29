"""retrieve: see README.md beside this file."""
