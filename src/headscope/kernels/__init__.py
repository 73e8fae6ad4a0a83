"""Pure functions on tensors. No files, no models, no state."""
