"""The numbers of other tools, reproduced exactly beside raggate's own: pure, one module per tool."""
