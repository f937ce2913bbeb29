"""Which entries answer a question best, and which make room. Pure."""
