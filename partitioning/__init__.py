"""Computes the partition into which Kafka's clients put a record, for one key and for a column of keys.

- `interface` says what a partitioner is. `partitioners` finds one by name, with `registry` and `plug_ins`.
- `profiles` is the table of clients' rules for keyed records, and `placement` places keys by it. `hashing`
  has the hash functions. `keys` makes columns of keys, and `serializers` turns values into keys.
- A strategy for unkeyed records is one file: `round_robin`, `sticky`, `random_choice`. `strategy` is their
  base, and `record_size` says how many bytes a record adds to a batch.
- `growth` says which keys move when a topic grows. `topic_partition` names a partition.
- `clients` connects partitioners to client libraries, and `testing` checks them. `errors` has the errors of
  all packages. `java` and `kit` are also used by the packages that import this one.

`api` holds the public names. They are loaded on first use, because placing a single key must not take the
time to import every strategy and plug-in.
"""

from typing import TYPE_CHECKING

from partitioning.kit.packages import load_lazily

if TYPE_CHECKING:
    from partitioning.api import *  # noqa: F403 - the names of `api` are those of the package

    __version__: str

# This call gives the package the `__getattr__`, `__dir__` and `__all__` that offer the names of `api`.
load_lazily(__name__)
