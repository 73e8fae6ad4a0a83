"""The interactive page of one text: every head, small and large. No torch in here."""
