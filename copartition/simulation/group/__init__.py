"""Model the group at work: the coordinator on the broker, the clients, and the protocols between them.

- A classic group: `classic_group` is its coordinator, `members` what its clients do, `leader` decides the
  assignment, and `classic_states` has the states. `classic_protocol` connects them to the run.
- A group of the consumer protocol (KIP-848): `group_coordinator` is the coordinator at work, `consumer_group`
  what it keeps, and `targets` its assignments. `client` is what every client does, with the states of
  `client_states`; `consumer_client` and `classic_client` are what depends on the client's protocol.
  `consumer_protocol` connects them to the run.
- Both: `clients` has the measured behaviour of each client library, `timers` and `memberships` what their
  names say, and `world` the state that all parts share. `metadata` says when members learn that topics have
  changed.
"""
