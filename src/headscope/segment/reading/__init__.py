"""What heads write for texts of any length, read in overlapping windows.

In reading order: `window_batches` (windows, batches, threads), `head_signals` (four numbers per
head and token), `read_heads` (head outputs and signals of whole texts).
"""
