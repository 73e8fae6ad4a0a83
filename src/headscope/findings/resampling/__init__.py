"""Intervals and tests from the per-text rows of a run, by resampling documents. No torch here.

Pairs of one text depend on each other, and so do windows of one document: what is drawn anew is
documents, never pairs.
"""
