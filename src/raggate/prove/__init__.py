"""Proof that the gate catches what it should: known faults, and what the gate's own decision makes of each."""
