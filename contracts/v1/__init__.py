"""Version 1 of every message."""
