"""What is found out about a model on load: its attention sites, and that the tap is right."""
