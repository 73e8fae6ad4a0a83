"""Evaluation: how good a segmenter is on texts with known boundaries.

In reading order: `evaluate_sentences` and `evaluate_topics` (tables of all methods), `baselines`,
`c99` (a classic topic segmenter), `peers` (sentence splitters of other packages).
"""
