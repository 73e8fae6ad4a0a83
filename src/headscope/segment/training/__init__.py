"""Fitting: from texts to what a segmenter has learned."""
