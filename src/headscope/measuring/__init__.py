"""Windows, labels, batches, shards, and their reduction. No findings and no pages in here."""
