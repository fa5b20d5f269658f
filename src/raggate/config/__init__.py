"""raggate.yml -> frozen settings, and what loosens them."""
