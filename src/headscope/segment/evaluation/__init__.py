"""Judging a segmenter: corpora with known boundaries, baselines, peers, tables."""
