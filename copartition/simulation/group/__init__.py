"""Model the group at work: the coordinator on the broker, the clients, and the protocols between them.

- A classic group: `classic_group` is its coordinator, `members` models its clients, `leader` decides the
  assignment, and `classic_states` defines the states. `metadata` decides when members learn that topics have
  changed. `classic_protocol` connects them to the run.
- A group of the consumer protocol (KIP-848): `group_coordinator` is the coordinator at work, `consumer_group`
  has the state that it keeps, and `targets` has its assignments. `client` models what every client does, with
  the states of `client_states`; `consumer_client` and `classic_client` add what depends on the client's
  protocol. `consumer_protocol` connects them to the run.
- Both: `clients` has the measured behaviour of each client library, `timers` runs timers, `memberships`
  numbers the memberships, and `world` keeps the state that all parts share.
"""
