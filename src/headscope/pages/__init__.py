"""What pages are made of: one set of assets, and the file that holds them all. No torch in here."""
