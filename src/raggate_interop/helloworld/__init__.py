"""helloworld, the note system."""
