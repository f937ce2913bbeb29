"""Memory in front of a model: chat requests pass through, get what is remembered, and are remembered."""
