"""Text and files: read strictly, written whole, made harmless."""
