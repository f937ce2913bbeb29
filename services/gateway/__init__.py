"""gateway: see README.md beside this file."""
