"""What must hold of answers whatever the metrics say, and of two runs that are compared. Pure."""
