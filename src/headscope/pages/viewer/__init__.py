"""The interactive page of one text, with every head. No torch in here."""
