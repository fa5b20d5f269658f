"""The search-improver."""
