"""A run -> a scorecard."""
