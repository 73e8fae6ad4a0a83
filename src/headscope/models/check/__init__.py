"""What is found out when a model is loaded: its attention sites, and that the tap is right."""
