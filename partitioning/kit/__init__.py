"""What every package shares: nothing in here knows a key, a group or a broker."""
