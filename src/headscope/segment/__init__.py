"""Segmenting: sentences and topics of a text, from what attention heads write."""

from headscope.segment.boundary_scores import BoundaryScores
from headscope.segment.segmenter import Segmenter

__all__ = ["BoundaryScores", "Segmenter"]
