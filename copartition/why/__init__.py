"""Find the reasons of a group's rebalances in logs of brokers and clients, and settings that avoid them.

- `unpack` takes the texts out of a log's lines. `patterns.toml` has the messages of brokers and clients.
  `messages` finds these messages in a text, and `statements` turns them into statements about groups.
- `rebalances` decides from brokers' logs when a rebalance began and why; `client_rebalances` does so from
  clients' logs, and `offsets_topic` reads a group's generations from `__consumer_offsets`.
- `history` holds the result. `cures` decides which settings would have avoided a rebalance.
- `report`, `page` and `command` present the answer.
"""
