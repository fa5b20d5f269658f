"""What reports are made of: sections, what fits them to a limit, and how values are written."""
