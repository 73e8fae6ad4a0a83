"""Switching heads off: what a model loses without them, and models without them."""
