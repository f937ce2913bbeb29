"""embed: see README.md beside this file."""
