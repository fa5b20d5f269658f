"""Answers that are kept for later runs: what they depend on, the sealed file, and what of it is taken."""
