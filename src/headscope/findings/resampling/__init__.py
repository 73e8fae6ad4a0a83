"""Intervals and tests from the rows of a run, by resampling documents. No torch in here.

Pairs of one window depend on each other, and so do windows of one document. So documents are
resampled, never pairs.
"""
