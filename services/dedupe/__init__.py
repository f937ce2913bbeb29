"""dedupe: see README.md beside this file."""
