"""Pages for a browser: one frame with a strict policy, one style sheet, and the report of a run. Pure."""
