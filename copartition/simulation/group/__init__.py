"""The group at work: the coordinator on the broker, the clients, and the protocols between them."""
