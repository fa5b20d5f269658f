"""What an API that nobody has described can be asked, and where its answer holds what. Pure."""
