"""GitHub's runner: its variables, files and log commands."""
