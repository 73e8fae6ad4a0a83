"""What the benchmarks share. Nothing here is run by itself but `one_way.py`, by `worker.py`."""
