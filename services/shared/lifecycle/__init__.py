"""What becomes of an entry: said again, pinned, corrected, superseded. Pure."""
