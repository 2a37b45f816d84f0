"""What the rooms of the tools share."""
