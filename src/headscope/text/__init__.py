"""Text in, windows out: corpus readers, sentences, windows. No torch in here."""
