"""All packages share these helpers; nothing in here knows a key, a group or a broker."""
