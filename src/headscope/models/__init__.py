"""Models: load one, tap its attention heads, and check the tap against the model's own arithmetic."""
