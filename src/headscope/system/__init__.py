"""What every part stands on: progress, the journal, threads, memory and timing."""
