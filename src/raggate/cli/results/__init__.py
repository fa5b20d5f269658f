"""What the commands tell programs with `--json`: a type for each, of which schema and documentation are made."""
