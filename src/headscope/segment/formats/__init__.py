"""Formats of texts: what their markup says about where segments begin."""
