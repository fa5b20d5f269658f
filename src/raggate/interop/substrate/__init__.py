"""substrate, the search-improver."""
