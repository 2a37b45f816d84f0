"""What the broker decides for groups of the new protocol (KIP-848)."""
