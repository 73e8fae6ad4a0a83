"""Hostile inputs, by category: each is refused in one line, or does no harm."""
