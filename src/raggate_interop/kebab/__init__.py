"""kebab."""
