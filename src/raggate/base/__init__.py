"""What all else stands on: errors, plug-ins, and texts and files read strictly, written whole, made harmless."""
