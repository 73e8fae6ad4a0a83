"""Segmenting: sentences from what attention heads write, topics from what comes of it."""

from headscope.segment.segmenter import Segmenter
from headscope.segment.sentences.boundary_scores import BoundaryScores

__all__ = ["BoundaryScores", "Segmenter"]
