"""Figures: one figure, one file, from results to a matplotlib figure. No torch in here."""
