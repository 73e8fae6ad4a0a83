"""`headscope serve`: the viewer live, on this machine alone (extra `serve`)."""

PORT = 8000
"""The port, unless asked otherwise."""

MAX_TOKENS = 512
"""Longer texts are cut off here, unless asked otherwise."""
