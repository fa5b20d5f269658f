"""Other systems: their files, their numbers bit for bit, and commands for moving in. For the command line alone."""
