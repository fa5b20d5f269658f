"""What both front ends have in common: what they print, and how whatever ends them becomes an exit code."""
