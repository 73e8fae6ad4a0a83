"""Topic boundaries: how similar sentences are, and where the subject changes.

In reading order: `sentence_similarity` (vectors and shared words), `gap_features` (similarities
around each gap between sentences), `topic_net` (the network that sees them), `find_topics` (the
best cuts).
"""
