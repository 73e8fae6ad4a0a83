"""`headscope serve`: the live viewer, on this machine only (extra `serve`).

In reading order: `server` (the models on offer, and the server), `app` (its two pages),
`model_queue` (one model in memory, one text at a time).
"""
