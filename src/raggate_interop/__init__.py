"""Other systems: their files, their numbers bit for bit, and commands for moving in. For the command line alone.

Every reader here raises UsageError for a file it cannot take, with its name and, if it has lines, the line.
"""
