"""The client package: one behaviour over both ways, what it does when nothing answers, and its wheel."""
