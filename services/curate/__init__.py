"""curate: see README.md beside this file."""
