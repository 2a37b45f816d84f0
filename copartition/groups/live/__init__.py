"""Read a group of a running cluster; reading writes nothing to the cluster.

`reader` makes a group of the answers that `cluster` gets. `members` reads the bytes that members left with
the coordinator, and `wire` sends requests that confluent-kafka does not have. `messages.toml` describes the
structure of the answers to these requests.
"""

from copartition.groups.live.reader import read_live as read_live
