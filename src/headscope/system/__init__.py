"""What every other part uses: progress, the journal, registries, threads, memory and timing."""
