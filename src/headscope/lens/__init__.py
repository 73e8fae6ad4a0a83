"""What each layer knows: its states through the model's own head, and through trained probes."""
