"""`headscope serve`: the live viewer, on this machine only (extra `serve`).

In reading order: `server` (the models on offer, and the server), `app` (its page, and what
that asks for), `model_queue` (one model in memory, one text at a time).
"""

PORT = 8000
"""The port, unless asked otherwise."""

MAX_TOKENS = 512
"""Longer texts are cut off here, unless asked otherwise."""
