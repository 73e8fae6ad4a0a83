"""From a corpus to results: windows, labels, batches, shards, and their reduction.

No findings and no pages in here.
"""
