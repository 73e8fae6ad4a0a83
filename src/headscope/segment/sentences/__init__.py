"""Sentence boundaries: candidates, their probabilities, and the best cuts.

In reading order: `mode` (is the punctuation reliable?), `candidates` (where a sentence may begin),
`surface` (the characters there), `boundary_net` (the network), `mode_weights` (a network with its
calibration), `weights` (on disk), `boundary_scores` (a probability per candidate), `decode` (the
best cuts), `explain` (which heads a boundary comes from).
"""
