"""The reasons of a group's rebalances, read from logs of brokers and clients, and cures for them."""
