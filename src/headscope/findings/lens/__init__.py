"""What guesses at scored positions say: by layer, by token type, and which tokens are confused."""
