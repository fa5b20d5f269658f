"""Why questions got worse: of one, by its lists on both sides, and of many, by what changed as a whole. Pure."""
