"""The annotation taxonomy."""
