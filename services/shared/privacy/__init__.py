"""Whose words they are, and what they ask of the memory: wishes, commands, quotations, wrappings. Pure."""
