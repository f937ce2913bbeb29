"""Days and times that words name. Pure."""
