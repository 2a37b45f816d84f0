"""Read a group of a running cluster; nothing is ever written to the cluster.

`reader` makes a group of what `cluster` asks. `members` reads the members' own bytes, and `wire` sends the
requests that confluent-kafka has not. `messages.toml` has the answers of brokers in their own bytes.
"""

from copartition.groups.live.reader import read_live as read_live
