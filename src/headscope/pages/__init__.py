"""What people look at: figures, the report, the viewer of one text. No torch in here."""
