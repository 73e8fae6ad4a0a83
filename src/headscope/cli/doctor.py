"""`headscope doctor`: what works on this machine, and how a model is read."""
