"""Topic boundaries: how alike sentences are, and where they turn to something else."""
