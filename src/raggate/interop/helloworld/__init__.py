"""The note system."""
