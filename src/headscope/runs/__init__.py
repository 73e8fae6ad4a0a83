"""Run folders: the manifest, the shards, and their reduction. No torch, no models in here."""
