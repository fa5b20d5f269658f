"""Judging passages by people: what is shown, what they decided, and how it gets into the golden set."""
