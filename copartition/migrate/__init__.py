"""From one list of strategies to another: which rolling bounces are safe, or why none is."""
