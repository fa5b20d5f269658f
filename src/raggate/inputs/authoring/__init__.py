"""Writing a golden set: passages of notes to choose from, where a text stands in them, and lines added to the file."""
