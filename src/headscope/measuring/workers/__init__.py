"""Who measures which shard: this process, local processes, or the actors of a Ray cluster."""
