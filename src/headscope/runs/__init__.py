"""Run folders: the manifest, windows, shards and results on disk. No torch, no models in here."""
