"""The way through the program: what every front end calls."""
