"""The container action: what the runner starts."""
