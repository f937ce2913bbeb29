"""Names of people, and what names one thing among many. Pure."""
