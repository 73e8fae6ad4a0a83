"""Scripts that make tables, pictures and weights: see README.md in this folder."""
