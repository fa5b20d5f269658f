"""How raggate speaks to GitHub Actions."""
