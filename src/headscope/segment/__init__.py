"""Segmenting: sentences from what attention heads write, topics from what comes of it."""

from headscope.segment.boundary_scores import BoundaryScores
from headscope.segment.segmenter import Segmenter

__all__ = ["BoundaryScores", "Segmenter"]
