"""GitHub's REST API, as far as raggate needs it."""
