"""What runs in the environment of the service, not in raggate's: one file of the standard library alone."""
