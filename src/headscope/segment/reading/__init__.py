"""What heads write for texts of any length, read window by window."""
