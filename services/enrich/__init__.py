"""enrich: see README.md beside this file."""
