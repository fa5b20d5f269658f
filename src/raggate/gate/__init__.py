"""The decision: a run held against a baseline by a policy. Pure, but for what reads and writes baselines."""
