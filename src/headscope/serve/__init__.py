"""`headscope serve`: the viewer live, on this machine alone (extra `serve`)."""
