"""Segmenting: sentences and topics of a text, from what attention heads write."""

from headscope.segment.segmenter import BoundaryScores, Segmenter

__all__ = ["BoundaryScores", "Segmenter"]
