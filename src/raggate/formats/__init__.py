"""Files of other tools: one module per tool that reads what it writes and writes what it reads."""
