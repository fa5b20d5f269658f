"""`python -m raggate`."""

from raggate.cli import main

main()
