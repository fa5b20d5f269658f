"""pragmata, the annotation taxonomy and its framework."""
