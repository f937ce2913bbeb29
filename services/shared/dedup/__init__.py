"""Whether two texts state the same. Pure."""
