"""The group at work: the coordinator on the broker, the clients, and what each partition is doing."""
