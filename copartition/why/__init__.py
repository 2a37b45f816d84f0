"""Find the reasons of a group's rebalances in logs of brokers and clients, and cures for them.

- `unpack` takes the texts out of a log's lines. `patterns.toml` says which text means what; `messages` finds
  its patterns, and `statements` makes statements about groups of them.
- `rebalances` decides from brokers' logs when a rebalance began and why; `client_rebalances` does so from
  clients' logs, and `offsets_topic` reads a group's generations from `__consumer_offsets`.
- `history` holds the result. `cures` decides which settings would have avoided a rebalance.
- `report`, `page` and `command` present the answer.
"""
