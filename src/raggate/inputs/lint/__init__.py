"""Checks of questions and notes that need nothing else: what makes a golden set weaker than it looks."""
