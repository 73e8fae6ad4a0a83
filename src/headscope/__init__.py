"""See and measure what every attention head of a transformer writes."""
