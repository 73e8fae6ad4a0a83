"""Sentence boundaries: candidates, their probabilities, and the best cuts."""
