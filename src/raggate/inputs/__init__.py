"""What is trusted: golden set, vault and configuration, read from a working tree or a commit."""
