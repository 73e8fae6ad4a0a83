"""What the numbers of a run say: intervals, claims, roles, stability. No torch in here."""
